"""The papers of the invented shop: readme, settings, notes, migrations."""

README = """\
# harbor

The order service of a ship chandler's web shop: orders, invoices, stock, notifications.
Python 3.12, no framework: `harbor/web.py` is all the HTTP we need.

## Working on it

    make install        # editable install with test tools
    make test           # the whole suite, a few seconds
    make openapi        # checks docs/openapi.yaml against the routes
    make run            # serves on :8080 with the demo catalogue

The development database listens on port 54329 (not 5432, which is the old shop):

    psql "postgresql://harbor_ro@localhost:54329/harbor_dev"

## Layout

| folder | what | owner |
|---|---|---|
| `harbor/orders` | orders and their life cycle | shop team |
| `harbor/billing` | money, tax, invoices, the invoice worker | shop team, finance reviews |
| `harbor/inventory` | stock levels and reservations | shop team |
| `harbor/notifications` | outbox, templates, mail | shop team |
| `migrations` | SQL, applied by ops on Tuesdays | **ops**, change requests only |
| `docs/warehouse-zh.md` | notes of the Shenzhen warehouse, in Chinese | warehouse |

## Conventions

- Amounts are integer cents. Shares are basis points. No floats, not even in tests.
- Time comes from a `Clock`, so that tests can stop it.
- Every change of state adds an event to the outbox; nobody sends mail directly.
- One commit per change, subject in the imperative, `harbor-NNN` if there is a ticket.
"""

PYPROJECT = """\
[project]
name = "harbor"
version = "1.7.3"
requires-python = ">=3.12"
dependencies = []

[project.optional-dependencies]
test = ["pytest>=8"]
docs = ["pyyaml>=6"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
"""

MAKEFILE = """\
.PHONY: install test openapi run

install:
\tpython -m pip install -e '.[test,docs]'

test:
\tpython -m pytest -q

openapi:
\tpython -m harbor.tools.check_openapi docs/openapi.yaml

run:
\tpython -m harbor.app --port 8080
"""

SETTINGS_TOML = """\
# Read by harbor/settings.py. Secrets come from the environment, never from here.

[shop]
name = "Harbor & Daughters"
currency = "EUR"
country = "DE"
first_order_number = 20001

[inventory]
reservation_ttl_seconds = 900
sweep_interval_seconds = 60

[billing]
invoice_batch = 50
first_invoice_number = 7001
ledger_account = "8400-19"      # finance: domestic sales at 19 %
refund_account = "8725-03"      # finance: partial refunds are booked here, and only here
refund_window_days = 30

[notifications]
sender_name = "Harbor & Daughters"
locale = "en"
warehouse_alias = "lager-sz@harbor-daughters.example"
"""

CHANGELOG = """\
# Changelog

## 1.7.3 (2025-02-24)

- Invoice lines are rounded one by one, as finance asked (harbor-412).
- The mailer no longer sends internal events.

## 1.7.2 (2025-02-10)

- Included VAT is rounded half up in all countries (harbor-398).

## 1.7.1 (2025-01-28)

- `POST /orders/{order_id}/cancel` answers 409 instead of 500 for shipped orders (harbor-377).

## 1.7.0 (2025-01-14)

- Reservations expire. The time is `inventory.reservation_ttl_seconds` in `config/settings.toml`.
"""

OPENAPI = """\
openapi: "3.1.0"
info: {title: harbor, version: "1.7.3"}
paths:
  /orders:
    post:
      summary: Place an order
      responses: {"201": {description: placed}, "422": {description: invalid}}
  /orders/{order_id}:
    get:
      summary: Show an order
      responses: {"200": {description: found}, "404": {description: unknown}}
  /orders/{order_id}/cancel:
    post:
      summary: Cancel an order that has not shipped
      responses: {"200": {description: cancelled}, "409": {description: too late}}
"""

WAREHOUSE_ZH = """\
# 深圳仓库说明

维护人：林静（仓储组） 更新日期：2025-03-04

## 一、安全库存

1. 每个 SKU 都有安全库存（`safety_stock`），数量由仓储组每季度核定一次。
2. 可用库存 = 在库数量 − 已预留数量。可用库存**低于**安全库存时必须报警，等于时不报警。
3. 同一个 SKU 在恢复到安全库存以上之前只报警一次，避免重复邮件。

## 二、报警邮件

- 收件地址：见配置项 `notifications.warehouse_alias`。
- 正文固定为一行，内容如下，花括号内为变量：

  【库存预警】{sku} 可用库存 {available} 件，低于安全库存 {safety_stock} 件，请尽快补货。

- 事件类型：`stock.low`。不要使用其他名称，仓库的分拣脚本按此名称过滤。

## 三、编号

| 前缀 | 含义 |
|---|---|
| `SZ-` | 深圳仓库发货的商品 |
| `HH-` | 汉堡仓库发货的商品 |

深圳仓库只关心 `SZ-` 开头的商品，汉堡的商品请勿发送。

## 四、联系方式

分机 8206，工作时间为北京时间 9:00 至 18:00。节假日请发邮件。
"""

MIGRATIONS = {
    "migrations/0001_orders.sql": """\
-- applied 2024-06-04 by ops
create table orders (
    id            text primary key,
    customer_id   text not null,
    currency      char(3) not null,
    status        text not null check (status in ('placed', 'paid', 'shipped', 'cancelled')),
    discount_bp   integer not null default 0,
    payment_ref   text,
    placed_at     timestamptz not null
);
create table order_lines (
    order_id          text not null references orders (id),
    position          integer not null,
    sku               text not null,
    quantity          integer not null check (quantity > 0),
    unit_price_cents  integer not null,
    primary key (order_id, position)
);
""",
    "migrations/0002_invoices.sql": """\
-- applied 2024-09-17 by ops
create table invoices (
    id           text primary key,
    order_id     text not null unique references orders (id),
    total_cents  integer not null,
    vat_cents    integer not null,
    issued_at    timestamptz not null
);
""",
    "migrations/0003_refunds.sql": """\
-- applied 2025-02-25 by ops, change request OPS-1188
create table refunds (
    id            text primary key,
    order_id      text not null references orders (id),
    amount_cents  integer not null check (amount_cents > 0),
    reason        text not null,
    account       text not null,
    created_at    timestamptz not null
);
create index refunds_by_order on refunds (order_id);
""",
}

FILES = {
    "README.md": README,
    "CHANGELOG.md": CHANGELOG,
    "Makefile": MAKEFILE,
    "pyproject.toml": PYPROJECT,
    "config/settings.toml": SETTINGS_TOML,
    "docs/openapi.yaml": OPENAPI,
    "docs/warehouse-zh.md": WAREHOUSE_ZH,
    **MIGRATIONS,
}
