"""Task 2: a new endpoint. One check cannot run here and stays open; an installation is denied."""

from __future__ import annotations

from foveate.sample.calls import (
    Call,
    bash,
    denied,
    edit_file,
    git_commit,
    git_diff,
    git_status,
    grep,
    list_dir,
    read_file,
    write_file,
)
from foveate.sample.recorder import Recorder
from foveate.sample.reports import Failure, pytest, traceback
from foveate.sample.tasks import refund_texts as texts
from foveate.sample.workspace import Workspace

REFUNDS = "harbor/billing/refunds.py"
ROUTES = "harbor/orders/routes.py"
APP = "harbor/app.py"
OPENAPI = "docs/openapi.yaml"

REQUEST = """\
Nice, thanks. Next one: support needs partial refunds (harbor-431).

POST /orders/{order_id}/refunds with {"amount_cents": 500, "reason": "one cleat missing"} \
-> 201 and the refund's id. Only paid or shipped orders, never more in total than was charged, \
only within the refund window. Errors as for the other routes: 404 unknown, 409 not possible, 422 \
nonsense. Finance insists that refunds are booked on their own account, it is in the settings \
already. Ops added the table in February, so there is nothing to do on that side.

Please also add it to docs/openapi.yaml and run `make openapi`."""

ANSWER = """\
`POST /orders/{order_id}/refunds` works and is covered by 11 new tests; the whole suite is green.

- `harbor/billing/refunds.py`: `RefundService` checks state, window and what is left to refund. My \
first version compared with the charged amount instead of what is *left*; a test caught it.
- `harbor/orders/routes.py`: 201, 404, 409 and 422 as you asked. A float amount is 422.
- `harbor/app.py`: account and window come from `billing.refund_account` and \
`billing.refund_window_days`.
- `docs/openapi.yaml`: the new path.

**Open:** `make openapi` does not run here. It needs PyYAML, which is not installed, and you \
declined `pip install`. I compared paths and routes with grep and they agree, but the real check \
still has to be run on your side.

Nothing under `migrations/` was changed; `0003_refunds.sql` already has every column."""

FOLLOW_UP = """\
Good. I'll run make openapi in CI later, leave it. Just to be sure before I tell finance: which \
account are refunds booked on, and from which date does the window count?"""

FOLLOW_UP_ANSWER = """\
On account 8725-03 (`billing.refund_account`), and nothing else is booked there. The window is 30 \
days (`billing.refund_window_days`) and counts from `placed_at`, the moment the order was placed, \
not from payment or shipping. Exactly 30 days is still allowed, one second more is not."""


def run(session: Recorder) -> None:
    session.user(REQUEST)
    _look_around(session)
    _write_the_service(session)
    _add_the_route(session)
    _test_the_route(session)
    _document(session)
    _finish(session)
    session.answer(ANSWER)
    session.user(FOLLOW_UP)
    session.answer(FOLLOW_UP_ANSWER)


def _look_around(session: Recorder) -> None:
    session.step(
        "I'll read the order package and look for what exists about refunds.",
        read_file(ROUTES),
        read_file("harbor/orders/models.py"),
        grep("(?i)refund", "."),
    )
    session.step(
        "The table is there. I only read it, to use the same columns.",
        read_file("migrations/0003_refunds.sql"),
    )
    session.step("", read_file("harbor/billing/money.py"))
    session.step(
        "`require_cents` is what I need for the amount. How do invoices number and report?",
        read_file("harbor/billing/invoices.py"),
    )
    session.step("", read_file("harbor/orders/repository.py"))
    session.step("", read_file("harbor/web.py"))
    session.step("", read_file("tests/test_routes.py"))


def _write_the_service(session: Recorder) -> None:
    session.step(
        "I know enough. The service first, in billing next to invoices.",
        write_file(REFUNDS, texts.REFUNDS),
    )
    session.step("Its tests:", write_file("tests/test_refunds.py", texts.TEST_REFUNDS))
    failure = Failure(
        test="test_never_more_than_was_charged",
        frames=(("tests/test_refunds.py", 'match="33 is more than the 32 left"'),),
        error=("Failed: DID NOT RAISE <class 'harbor.billing.refunds.RefundRefused'>",),
    )
    session.step("", pytest("tests/test_refunds.py", failure))
    session.step(
        "A real bug: I compare with the charged amount and forget earlier refunds.",
        edit_file(REFUNDS, *texts.LIMIT),
    )
    session.step("", pytest("tests/test_refunds.py -v"))


def _add_the_route(session: Recorder) -> None:
    session.step("Now the route.", edit_file(ROUTES, *texts.ROUTE_IMPORTS))
    session.step("", edit_file(ROUTES, *texts.ROUTE_SIGNATURE))
    session.step("", edit_file(ROUTES, *texts.ROUTE_HANDLER))
    session.step(
        "I changed `harbor/app.py` in the last task, so I read it again before I wire this up.",
        read_file(APP),
    )
    session.step("", edit_file(APP, *texts.APP_IMPORT))
    session.step("", edit_file(APP, *texts.APP_FIELD))
    session.step("", edit_file(APP, *texts.APP_WIRING))
    frames = (
        ("tests/test_routes.py", "return build(Settings.load()"),
        (APP, 'settings.get("refunds.window_days")'),
        ("harbor/settings.py", "raise MissingSetting(key)"),
    )
    error = ("harbor.settings.MissingSetting: `refunds.window_days` is not in the settings",)
    failures = tuple(
        Failure(test=test, frames=frames, error=error, in_setup=True)
        for test in ("test_place_and_show", "test_unknown_order_is_404")
    )
    nodes = " ".join(f"tests/test_routes.py::{failure.test}" for failure in failures)
    session.step("A quick look at two route tests:", pytest(f"-q {nodes}", *failures))
    session.step("I had the key wrong. What is it really?", read_file("config/settings.toml"))
    session.step("", edit_file(APP, *texts.APP_KEY))
    session.step("", pytest("tests/test_routes.py"))


def _test_the_route(session: Recorder) -> None:
    session.step("Green. Now tests for the new route:", _edit_route_tests())
    failure = Failure(
        test="test_refund_amount_must_be_cents",
        frames=(
            ("tests/test_routes.py", '{"amount_cents": 5.0}'),
            ("harbor/web.py", "return handler(Request("),
            (ROUTES, "made = refunds.refund("),
            (REFUNDS, 'if require_cents(amount_cents, "amount_cents") < 1:'),
            ("harbor/billing/money.py", "raise MoneyError("),
        ),
        error=(("harbor.billing.money.MoneyError: `amount_cents` must be an integer number of cents, got 5.0"),),
    )
    session.step("", pytest("tests/test_routes.py", failure))
    session.step(
        "`MoneyError` goes straight through. It is the caller's mistake, so 422.",
        edit_file(ROUTES, *texts.ROUTE_MONEY_ERROR),
    )
    session.step("", read_file(ROUTES))
    session.step("", pytest("tests/test_routes.py -v"))


def _document(session: Recorder) -> None:
    session.step("Next, the API description.", read_file(OPENAPI))
    session.step("", edit_file(OPENAPI, *texts.OPENAPI_AMBIGUOUS))
    session.step(
        "That text is not unique. I'll anchor the edit at the last path instead.",
        edit_file(OPENAPI, *texts.OPENAPI_PATH),
    )
    command = "python -m harbor.tools.check_openapi docs/openapi.yaml"

    def missing_module(ws: Workspace) -> str:
        frames = (("harbor/tools/check_openapi.py", "import yaml"),)
        error = "ModuleNotFoundError: No module named 'yaml'"
        trace = traceback(ws, frames, error, as_module=True)
        return f"{command}\n{trace}\nmake: *** [Makefile:10: openapi] Error 1"

    session.step("", bash("make openapi", missing_module, code=2))
    session.step(
        "The check needs PyYAML. It is in the `docs` extra of this project.",
        denied(
            "python -m pip install 'pyyaml>=6'",
            "no installs on this machine, the image is managed by ops",
        ),
    )
    session.step(
        "Understood, I won't install anything. I'll compare by eye and report the check as open.",
        grep(r"@router\.route|^  /orders", "."),
        list_dir("harbor/tools"),
    )


def _finish(session: Recorder) -> None:
    session.step("Routes and paths agree. The whole suite:", pytest(""))
    session.step("", git_diff(ROUTES, APP, OPENAPI))
    session.step("", git_status())
    session.step("", git_commit("Add partial refunds (harbor-431)"))


def _edit_route_tests() -> Call:
    return edit_file("tests/test_routes.py", *texts.ROUTE_TESTS)
