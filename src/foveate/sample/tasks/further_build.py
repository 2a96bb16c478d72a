"""A further task: build a small feature from a ticket."""

from __future__ import annotations

from foveate.sample.calls import (
    bash,
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
from foveate.sample.reports import Failure, pytest
from foveate.sample.tasks import further_texts as texts
from foveate.sample.tasks.features import Feature

EVENTS = "harbor/events.py"
SETTINGS = "config/settings.toml"

REQUEST = """\
Next ticket is harbor-$ticket: ${words}s. A customer gets one with an amount, uses it in parts, \
and it can be closed. Nobody may use more than is left. Finance books them on account $account and \
wants a limit of $amount cents each; both belong into the settings. Same house rules as always."""

ANSWER = """\
harbor-$ticket is done: `harbor/$module.py` with `${Class}Book`, eight tests, the whole suite green.

- Limit $amount cents (exactly the limit is allowed) and account $account are in \
`config/settings.toml` under `[$module]`.
- Ids look like `$code-00001`. Granting and using leave `$kind.granted` and `$kind.used` events.
- Amounts are checked by `require_cents`, so floats are refused. No change under `migrations/`: \
the ${words}s live in memory until ops have a table for them; please open a request if you want \
one."""

DEMO = """\
python -c "
from harbor.clock import FakeClock
from harbor.notifications.outbox import Outbox
from harbor.$module import ${Class}Book
book = ${Class}Book(Outbox(), FakeClock(), account='$account', limit_cents=$limit)
print(book.use(book.grant('C-4107', 5_000).id, 1_250).shown())
\""""


def run(session: Recorder, feature: Feature) -> None:
    session.user(feature.fill(REQUEST))
    _look_around(session)
    _write(session, feature)
    _repair(session, feature)
    _finish(session, feature)
    session.answer(feature.fill(ANSWER))


def _look_around(session: Recorder) -> None:
    session.step(
        session.rng.choice(
            (
                "I'll see what is there that I can follow.",
                "Let me look at the neighbours first.",
                "I start with how similar things are done here.",
            )
        ),
        list_dir("harbor"),
        grep(r"require_cents\(", "harbor"),
    )
    session.step("", read_file("harbor/billing/refunds.py"))
    session.step("", read_file(EVENTS))
    session.step("", read_file(SETTINGS))
    session.step("", read_file("harbor/billing/money.py", offset=1, limit=32))


def _write(session: Recorder, feature: Feature) -> None:
    session.step("Settings first.", edit_file(SETTINGS, *feature.pair(texts.SETTINGS)))
    session.step("The module:", write_file(feature.path, feature.fill(texts.MODULE)))
    session.step("And its tests:", write_file(feature.suite, feature.fill(texts.SUITE)))
    unknown = f"'{feature.var}.granted' is not in harbor.events.KINDS"
    failure = Failure(
        test=f"test_{feature.var}_is_granted",
        frames=(
            (feature.suite, 'made = book.grant("C-1", 2_500)'),
            (feature.path, f'self._publish("{feature.var}.granted", made)'),
            (feature.path, "Event.of("),
            (EVENTS, "return cls(kind, clock.now(), values)"),
            (EVENTS, "raise UnknownKind("),
        ),
        error=(f"harbor.events.UnknownKind: {unknown}",),
    )
    session.step("", pytest(f"-q {feature.suite}::test_{feature.var}_is_granted", failure))


def _repair(session: Recorder, feature: Feature) -> None:
    session.step("The new kinds are not registered yet.", edit_file(EVENTS, *feature.pair(texts.KINDS)))
    refused = feature.fill("harbor.$module.${Class}Refused")
    failure = Failure(
        test=f"test_{feature.var}_of_exactly_the_limit_is_allowed",
        frames=(
            (feature.suite, f'assert book.grant("C-1", {feature.limit:_}).left_cents'),
            (feature.path, "is above the limit of"),
        ),
        error=(f"{refused}: {feature.limit} is above the limit of {feature.limit}",),
    )
    session.step("", pytest(feature.suite, failure))
    session.step(
        session.rng.choice(
            (
                "Off by one: the limit itself must be allowed.",
                "My comparison is wrong at the limit.",
            )
        ),
        read_file(feature.path, offset=40, limit=24),
    )
    session.step("", edit_file(feature.path, *feature.pair(texts.LIMIT)))
    session.step("", pytest(f"{feature.suite} -v"))
    session.step(
        "What it looks like in use:",
        bash(feature.fill(DEMO), f"{feature.code}-00001: 37.50 € left"),
    )


def _finish(session: Recorder, feature: Feature) -> None:
    session.step("", read_file(EVENTS))
    session.step("A page for the docs:", write_file(feature.notes, feature.fill(texts.NOTES)))
    session.step("", grep(r"^\| `", "README.md"))
    session.step("", edit_file("README.md", *feature.pair(texts.README_ROW)))
    session.step("", pytest(""))
    session.step("", git_diff(EVENTS, SETTINGS))
    session.step("", git_status())
    session.step("", git_commit(f"Add {feature.words}s (harbor-{feature.ticket})"))
