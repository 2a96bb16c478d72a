"""What the agent writes and sees in task 4."""

from foveate.sample.project.billing import LINE_DISCOUNTS_BROKEN

FLOAT_VERSION = '''\
def line_discounts(gross: Sequence[int], discount_bp: int) -> list[int]:
    """The discount of each invoice line; together they are the discount of the subtotal."""
    exact = [cents * discount_bp / 10_000 for cents in gross]
    shares = [int(share) for share in exact]
    missing = share_bp(sum(gross), discount_bp) - sum(shares)
    by_loss = sorted(range(len(gross)), key=lambda i: exact[i] - shares[i])
    for position in by_loss[:missing]:
        shares[position] += 1
    return shares
'''
INTEGER_VERSION = '''\
def line_discounts(gross: Sequence[int], discount_bp: int) -> list[int]:
    """The discount of each invoice line; together they are the discount of the subtotal.

    Every line gets its share rounded down; the cents still missing go to the lines that lost most.
    """
    shares = [cents * discount_bp // 10_000 for cents in gross]
    missing = share_bp(sum(gross), discount_bp) - sum(shares)
    by_loss = sorted(range(len(gross)), key=lambda i: gross[i] * discount_bp % 10_000)
    for position in by_loss[:missing]:
        shares[position] += 1
    return shares
'''
FIRST_FIX = (LINE_DISCOUNTS_BROKEN, FLOAT_VERSION)
SECOND_FIX = (FLOAT_VERSION, INTEGER_VERSION)
THIRD_FIX = (
    "    by_loss = sorted(range(len(gross)), key=lambda i: gross[i] * discount_bp % 10_000)\n",
    "    by_loss = sorted(range(len(gross)), key=lambda i: -(gross[i] * discount_bp % 10_000))\n",
)

REGRESSION_TEST = (
    """\
def test_an_order_is_billed_once(invoices):
""",
    """\
def test_lines_of_order_20931_add_up(invoices):
    lines = (
        OrderLine("HH-BOLLARD-12", 2, 2_012),
        OrderLine("HH-ROPE-08", 4, 1_016),
        OrderLine("SZ-CLEAT-04", 6, 684),
    )
    assert invoices.issue(paid("ORD-20931", *lines, discount_bp=250)).total_cents == 11_887


def test_an_order_is_billed_once(invoices):
""",
)
REMAINDER_TEST = (
    """\
def test_discount_of_each_line():
""",
    """\
def test_missing_cents_go_to_the_lines_that_lost_most():
    # 2.5 % of these is 10.10, 20.90 and 30.70: 61.70 in all, rounded to 62.
    assert line_discounts([404, 836, 1_228], 250) == [10, 21, 31]


def test_line_discounts_add_up_to_the_discount_of_the_subtotal():
    for step in range(1, 400):
        gross = [step, 7 * step + 3, 13 * step + 1]
        assert sum(line_discounts(gross, 250)) == share_bp(sum(gross), 250)


def test_discount_of_each_line():
""",
)

WORKER_LOOP = (
    """\
            invoice = self._invoices.issue(order)
            log.info("issued %s for %s", invoice.id, order.id)
""",
    """\
            try:
                invoice = self._invoices.issue(order)
            except InvoiceMismatch:
                # One bad order must not keep the others waiting; the pager watches for ERROR.
                log.exception("no invoice for %s", order.id)
                continue
            log.info("issued %s for %s", invoice.id, order.id)
""",
)
WORKER_IMPORT = (
    "from harbor.billing.invoices import InvoiceService\n",
    "from harbor.billing.invoices import InvoiceMismatch, InvoiceService\n",
)
WORKER_TEST = (
    """\
def test_the_worker_bills_paid_orders_once(invoices):
""",
    """\
def test_one_bad_order_does_not_stop_the_worker(outbox):
    class Picky(InvoiceService):
        def issue(self, order):
            if order.id == "ORD-1":
                raise InvoiceMismatch("ORD-1: lines sum to 1, charged 2")
            return super().issue(order)

    orders = MemoryOrders()
    orders.save(paid("ORD-1"))
    orders.save(paid("ORD-2"))
    assert InvoiceWorker(orders, Picky(outbox, FakeClock())).run_once() == 1


def test_the_worker_bills_paid_orders_once(invoices):
""",
)
WORKER_TEST_IMPORT = (
    "from harbor.billing.invoices import InvoiceService\n",
    "from harbor.billing.invoices import InvoiceMismatch, InvoiceService\n",
)

ORDER_ROW = """\
    id     | status | discount_bp | payment_ref  |       placed_at
-----------+--------+-------------+--------------+------------------------
 ORD-20931 | paid   |         250 | pay_7Hq2mXcv | 2025-03-11 06:13:52+00
(1 row)
"""
LINE_ROWS = """\
 position |      sku      | quantity | unit_price_cents
----------+---------------+----------+------------------
        1 | HH-BOLLARD-12 |        2 |             2012
        2 | HH-ROPE-08    |        4 |             1016
        3 | SZ-CLEAT-04   |        6 |              684
(3 rows)
"""
OTHERS_SQL = """\
select l.order_id, sum(l.quantity * l.unit_price_cents) as subtotal, o.discount_bp
from order_lines l join orders o on o.id = l.order_id
where o.status = 'paid' and o.discount_bp > 0 and o.placed_at >= '2025-02-24'
group by l.order_id, o.discount_bp
having sum((l.quantity * l.unit_price_cents * o.discount_bp + 5000) / 10000)
    <> (sum(l.quantity * l.unit_price_cents) * o.discount_bp + 5000) / 10000
order by 1"""
OTHERS_ROWS = """\
 order_id  | subtotal | discount_bp
-----------+----------+-------------
 ORD-20931 |    12192 |         250
 ORD-20944 |     8731 |         500
 ORD-20987 |    40263 |         125
(3 rows)
"""

REPRODUCTION = """\
python -c "
from harbor.billing.money import line_discounts, share_bp
gross = [2 * 2012, 4 * 1016, 6 * 684]
print(gross, sum(gross))
print(line_discounts(gross, 250), sum(line_discounts(gross, 250)))
print(share_bp(sum(gross), 250))
\""""
REPRODUCED = """\
[4024, 4064, 4104] 12192
[101, 102, 103] 306
305
"""

BRUTE_FORCE = """\
python -c "
import random
from harbor.billing.money import line_discounts, share_bp
rng = random.Random(20931)
bad = 0
for _ in range(50_000):
    gross = [rng.randint(1, 90_000) for _ in range(rng.randint(1, 9))]
    bp = rng.randint(0, 10_000)
    shares = line_discounts(gross, bp)
    bad += sum(shares) != share_bp(sum(gross), bp) or any(not 0 <= s <= g \
for s, g in zip(shares, gross))
print('50000 orders,', bad, 'do not add up')
\""""
