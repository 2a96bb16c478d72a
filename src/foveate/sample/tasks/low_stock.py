"""Task 3: an alert for the warehouse in Shenzhen, asked for in Chinese. A command needs 3 tries."""

from __future__ import annotations

from foveate.sample.calls import (
    Call,
    bash,
    edit_file,
    git_commit,
    git_diff,
    grep,
    read_file,
    write_file,
)
from foveate.sample.recorder import Recorder
from foveate.sample.reports import Failure, pytest, traceback
from foveate.sample.tasks import low_stock_texts as texts
from foveate.sample.workspace import Workspace

BOOK = "harbor/inventory/reservations.py"
MAILER = "harbor/notifications/mailer.py"
TEMPLATES = "harbor/notifications/templates.py"
TOOL = "harbor/tools/render_template.py"

REQUEST = """\
Lin Jing from the warehouse in Shenzhen sent me this:

> 你好！SZ-CLEAT-04 上周又断货了，我们是从客户投诉里才知道的。\
希望系统在可用库存低于安全库存时自动给我们发邮件。\
邮件正文和事件名称请严格按照 docs/warehouse-zh.md 里的约定，不要改动措辞，否则分拣脚本识别不了。\
汉堡的商品（HH- 开头）不用通知我们。谢谢！

Please build it. Put the rule next to the stock code, send through the outbox as always, and show \
me the rendered mail before you commit, I want Lin Jing to see it first."""

ANSWER = """\
Ready, not committed yet. The warehouse gets one mail when an `SZ-` article falls below its safety \
stock.

- `harbor/inventory/alerts.py`: `LowStockAlerts` adds a `stock.low` event. Below means below: at \
exactly the safety stock there is no alert. It stays quiet until the stock has recovered.
- `harbor/inventory/reservations.py`: availability changes when stock is held *and* when it is \
given back; both are checked now. My first version forgot the second, a test caught it.
- `harbor/notifications`: the Chinese text, word for word from the notes, and \
`Mailer(internal=...)` for events that go to a colleague instead of the customer.

The rendered mail:

> 【库存预警】SZ-CLEAT-04 可用库存 3 件，低于安全库存 4 件，请尽快补货。

You could answer Lin Jing: 已完成。\
可用库存低于安全库存时会发送一封邮件，恢复之前不会重复发送；HH- 开头的商品不会通知。

Not done, because nobody asked: the mailer in production must be started with the address from \
`notifications.warehouse_alias`. That is in the deployment repository. Shall I commit?"""

FOLLOW_UP = """\
Lin Jing says 没问题，辛苦了！ Yes, commit it. I'll do the deployment side myself."""

FOLLOW_UP_ANSWER = """\
Committed. Still open from before: `make openapi` for the refund route, which you wanted to leave \
to CI."""


def run(session: Recorder) -> None:
    session.user(REQUEST)
    _look_around(session)
    _write_the_rule(session)
    _add_the_text(session)
    _route_the_mail(session)
    _finish(session)
    session.answer(ANSWER)
    session.user(FOLLOW_UP)
    session.step("", git_commit("Alert the warehouse when stock is low"))
    session.answer(FOLLOW_UP_ANSWER)


def _look_around(session: Recorder) -> None:
    session.step("The agreement first.", read_file("docs/warehouse-zh.md"))
    session.step(
        "So: strictly below, once until it recovers, only `SZ-`, event type `stock.low`, fixed "
        "text, address from `notifications.warehouse_alias`. Now the notification code.",
        read_file(TEMPLATES),
        read_file("harbor/notifications/outbox.py"),
        read_file(MAILER),
    )
    session.step("", grep("safety_stock|warehouse", "harbor"))
    session.step(
        "`StockLevel` already has `safety_stock`. Who changes availability?",
        grep(r"\.(hold|release|ship|restock)\(", "harbor"),
    )
    session.step("Only the reservation book. It has changed since I first read it.", read_file(BOOK))


def _write_the_rule(session: Recorder) -> None:
    session.step("", write_file("harbor/inventory/alerts.py", texts.ALERTS))
    session.step("", edit_file(BOOK, *texts.BOOK_IMPORT))
    session.step("", edit_file(BOOK, *texts.BOOK_CONSTRUCTOR))
    session.step("", edit_file(BOOK, *texts.BOOK_RESERVE))
    session.step("", write_file("tests/test_alerts.py", texts.TEST_ALERTS))
    failure = Failure(
        test="test_it_comes_again_after_stock_recovered",
        frames=(("tests/test_alerts.py", "assert len(low(outbox)) == 2"),),
        error=(
            "AssertionError: assert 1 == 2",
            (
                " +  where 1 = len([{'type': 'stock.low', 'sku': 'SZ-CLEAT-04', 'available': 3, "
                "'safety_stock': 4, ...}])"
            ),
            (
                " +    where [{'type': 'stock.low', 'sku': 'SZ-CLEAT-04', 'available': 3, "
                "'safety_stock': 4, ...}] = "
                "low(<harbor.notifications.outbox.Outbox object at 0x7f2c1e0b4d70>)"
            ),
        ),
    )
    session.step("", pytest("tests/test_alerts.py", failure))
    session.step(
        "Right: recovery happens in `_give_back`, and nobody looks there.",
        edit_file(BOOK, *texts.BOOK_GIVE_BACK),
    )
    session.step("", pytest("tests/test_alerts.py tests/test_reservations.py -v"))


def _add_the_text(session: Recorder) -> None:
    session.step("Now the text, copied from the notes.", edit_file(TEMPLATES, *texts.TEMPLATE))
    values = "--locale zh stock.low sku=SZ-CLEAT-04 available=3"
    session.step(
        "And what the mail looks like:",
        _fails(
            f"python {TOOL} {values}",
            ((TOOL, "from harbor.notifications.templates"),),
            "ModuleNotFoundError: No module named 'harbor'",
        ),
    )
    session.step(
        "As a module, of course.",
        _fails(
            f"python -m harbor.tools.render_template {values}",
            (
                (TOOL, "sys.exit(main())"),
                (TOOL, "print(render(args.kind"),
                (TEMPLATES, "raise MissingValue("),
            ),
            "harbor.notifications.templates.MissingValue: stock.low needs a value for `safety_stock`",
        ),
    )
    session.step(
        "I left out one value.",
        bash(
            f"python -m harbor.tools.render_template {values} safety_stock=4",
            "【库存预警】SZ-CLEAT-04 可用库存 3 件，低于安全库存 4 件，请尽快补货。",
        ),
    )


def _route_the_mail(session: Recorder) -> None:
    session.step(
        "The text is right. The mailer sends everything to the customer, though; this event must "
        "go to the warehouse, in Chinese.",
        edit_file(MAILER, *texts.MAILER_RECIPIENT),
    )
    session.step("", edit_file(MAILER, *texts.MAILER_CONSTRUCTOR))
    session.step("", edit_file(MAILER, *texts.MAILER_DRAIN))
    session.step("", edit_file(MAILER, *texts.MAILER_SEND))
    suite = "tests/test_notifications.py"
    session.step("", edit_file(suite, *texts.MAILER_TEST))
    failure = Failure(
        test="test_the_warehouse_is_told_in_chinese",
        frames=((suite, 'Recipient("lager-sz@'),),
        error=("NameError: name 'Recipient' is not defined",),
    )
    session.step("", pytest(suite, failure))
    session.step("", edit_file(suite, *texts.MAILER_TEST_IMPORT))
    session.step("", pytest(f"{suite} -q"))


def _finish(session: Recorder) -> None:
    session.step("", read_file(BOOK))
    session.step("", pytest(""))
    session.step("", git_diff(BOOK, MAILER, TEMPLATES))


def _fails(command: str, frames: tuple[tuple[str, str], ...], error: str) -> Call:
    def run(ws: Workspace) -> str:
        return traceback(ws, frames, error, as_module=" -m " in command)

    return bash(command, run, code=1)
