"""A further task: extend the feature that was built before, after a question about it."""

from __future__ import annotations

from foveate.sample.calls import (
    Call,
    edit_file,
    git_commit,
    git_diff,
    git_status,
    grep,
    read_file,
)
from foveate.sample.recorder import Recorder
from foveate.sample.reports import Failure, pytest
from foveate.sample.tasks import further_texts as texts
from foveate.sample.tasks.features import Feature

EVENTS = "harbor/events.py"
SETTINGS = "config/settings.toml"

QUESTION = """\
Finance is on the phone: on which account are the ${words}s booked, and what is the limit?"""

QUESTION_ANSWER = """\
On account $account, with a limit of $amount cents each. Both are in `config/settings.toml` under \
`[$module]` (harbor-$ticket)."""

REQUEST = """\
Thanks. And they now want ${words}s to expire after $days days (harbor-{ticket}). On the last day \
it is still good. The number of days goes into the settings next to the limit, and the customer \
will get a mail one day, so leave an event."""

ANSWER = """\
${Plural} expire after $days days (`$module.valid_days`). `close_expired` closes what is older and \
leaves one `$kind.expired` event each; calling it again does nothing. On day $days itself it is \
still good, there is a test for both sides.

The sweeper has to call it; I have not changed the sweeper, because it is started from the \
deployment repository. There is no mail text yet, so nothing is sent."""


def run(session: Recorder, feature: Feature) -> None:
    session.user(feature.fill(QUESTION))
    session.answer(feature.fill(QUESTION_ANSWER))
    session.user(feature.fill(REQUEST).format(ticket=feature.ticket + 2))
    _change(session, feature)
    _test(session, feature)
    _finish(session, feature)
    session.answer(feature.fill(ANSWER))


def _change(session: Recorder, feature: Feature) -> None:
    path = feature.path
    session.step(
        "How do reservations do it? They expire as well.",
        grep("expire", "harbor/inventory"),
        read_file(path),
    )
    session.step("", _edit(feature, path, texts.EXPIRY_IMPORT))
    old, new = feature.pair(texts.EXPIRY_INIT)
    session.step("", edit_file(path, old.replace("limit_cents: int", "limit: int"), new))
    session.step(
        session.rng.choice(
            (
                "The parameter is called `limit_cents`. Again:",
                "I misremembered the signature.",
            )
        ),
        grep("def __init__", path),
    )
    session.step("", edit_file(path, old, new))
    session.step("", _edit(feature, path, texts.EXPIRY_METHOD))
    session.step("", read_file(SETTINGS))
    session.step("", _edit(feature, SETTINGS, texts.EXPIRY_SETTING))


def _test(session: Recorder, feature: Feature) -> None:
    suite = feature.suite
    session.step("", _edit(feature, suite, texts.EXPIRY_TEST))
    unknown = f"'{feature.var}.expired' is not in harbor.events.KINDS"
    failure = Failure(
        test=f"test_old_{feature.var}_expires",
        frames=(
            (suite, "for one in book.close_expired()]"),
            (feature.path, f'self._publish("{feature.var}.expired", one)'),
            (feature.path, "Event.of("),
            (EVENTS, "return cls(kind, clock.now(), values)"),
            (EVENTS, "raise UnknownKind("),
        ),
        error=(f"harbor.events.UnknownKind: {unknown}",),
    )
    session.step("", pytest(suite, failure))
    session.step("The kind must be listed.", read_file(EVENTS, offset=1, limit=30))
    session.step("", _edit(feature, EVENTS, texts.EXPIRY_KIND))
    session.step("", pytest(f"{suite} -v"))


def _finish(session: Recorder, feature: Feature) -> None:
    session.step("", read_file(feature.path, offset=36, limit=40))
    session.step("The notes:", read_file(feature.notes))
    session.step(
        "",
        _edit(feature, feature.notes, texts.NOTES_EXPIRY),
        _edit(feature, feature.notes, texts.NOTES_EVENTS),
    )
    session.step("", read_file(feature.notes))
    session.step("", pytest(""))
    session.step("", git_diff())
    session.step("", git_status())
    session.step("", git_commit(f"Let {feature.words}s expire (harbor-{feature.ticket + 2})"))


def _edit(feature: Feature, path: str, change: tuple[str, str]) -> Call:
    return edit_file(path, *feature.pair(change))
