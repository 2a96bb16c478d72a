"""A further task: a bug report about the feature that was built before."""

from __future__ import annotations

from foveate.sample.calls import (
    Call,
    bash,
    edit_file,
    git_commit,
    git_diff,
    grep,
    read_file,
)
from foveate.sample.recorder import Recorder
from foveate.sample.reports import Failure, pytest, traceback
from foveate.sample.tasks import further_texts as texts
from foveate.sample.tasks.features import Feature
from foveate.sample.workspace import Workspace

USE = "found = self._all["

REQUEST = """\
Support cannot use a customer's $words, their console only shows this:

```
{trace}
```

They say the id is right. Please find out what is wrong and make the message one that a human can \
act on (harbor-{ticket})."""

ANSWER = """\
The id was right, but typed in lower case with a space in front: `{typed}` instead of `{right}`. \
`${Class}Book` looked it up as it was and let a bare `KeyError` out.

- Ids are trimmed and read in capitals now, in `use` and in `close`.
- An id that really does not exist raises `Unknown$Class`: "no such $words: $code-404".

Two new tests, the suite is green. The commit that introduced it was the one that added the \
feature, `{commit}`, so no released version is affected."""

REPRODUCTION = """\
python -c "
from harbor.clock import FakeClock
from harbor.notifications.outbox import Outbox
from harbor.$module import ${Class}Book
book = ${Class}Book(Outbox(), FakeClock(), account='$account', limit_cents=$limit)
book.grant('C-4107', 5_000)
print(book.use(' {wrong}', 1_250).shown())
\""""


def run(session: Recorder, feature: Feature) -> None:
    number = session.rng.randint(11, 89)
    typed, right = f" {feature.code.lower()}-000{number}", f"{feature.code}-000{number}"
    trace = traceback(session.workspace, ((feature.path, USE),), f"KeyError: '{typed}'")
    request = feature.fill(REQUEST).format(trace=trace, ticket=feature.ticket + 1)
    session.user(request)
    _look_around(session, feature)
    _write_tests(session, feature)
    _fix(session, feature)
    _finish(session, feature)
    commit = _built_by(session.workspace, feature).split()[0]
    session.answer(feature.fill(ANSWER).format(typed=typed, right=right, commit=commit))


def _look_around(session: Recorder, feature: Feature) -> None:
    session.step(
        session.rng.choice(
            (
                "I look at the line in the traceback and at everything else that reads the dict.",
                "The module and its tests first.",
            )
        ),
        read_file(feature.path),
        grep(r"self\._all\[", feature.path),
    )
    session.step("", read_file(feature.suite))
    session.step("", _reproduction(feature, works=False))
    session.step(
        "The space and the lower case show in the message. How do orders answer this?",
        read_file("harbor/orders/repository.py"),
    )
    session.step(
        "",
        bash(
            f"git log --oneline -3 -- {feature.path}",
            lambda ws: _built_by(ws, feature),
        ),
    )


def _write_tests(session: Recorder, feature: Feature) -> None:
    path, suite = feature.path, feature.suite
    session.step("The exception, then the tests.", _edit(feature, path, texts.UNKNOWN_CLASS))
    session.step(
        "",
        _edit(feature, suite, texts.UNKNOWN_IMPORT),
        _edit(feature, suite, texts.UNKNOWN_TEST),
    )
    careless = Failure(
        test=f"test_{feature.var}_id_may_be_typed_carelessly",
        frames=((suite, "made.id.lower()"), (path, USE)),
        error=(f"KeyError: ' {feature.code.lower()}-00001 '",),
    )
    session.step("", pytest(suite, careless, _close_fails(feature)))


def _fix(session: Recorder, feature: Feature) -> None:
    path, suite = feature.path, feature.suite
    session.step("Both fail as they should.", _edit(feature, path, texts.UNKNOWN_GET))
    session.step("", _edit(feature, path, texts.UNKNOWN_USE))
    session.step("", pytest(f"{suite} -q", _close_fails(feature)))
    session.step("`close` has the same line.", _edit(feature, path, texts.UNKNOWN_CLOSE))
    session.step("", pytest(f"{suite} -v"))
    session.step("", _reproduction(feature, works=True))


def _finish(session: Recorder, feature: Feature) -> None:
    session.step("", read_file(feature.path))
    session.step("The notes say nothing about ids that are typed.", read_file(feature.notes))
    session.step("", _edit(feature, feature.notes, texts.NOTES_IDS))
    session.step("", pytest(""))
    session.step("", git_diff())
    subject = f"Name unknown {feature.words}s (harbor-{feature.ticket + 1})"
    session.step("", git_commit(subject))


def _close_fails(feature: Feature) -> Failure:
    return Failure(
        test=f"test_unknown_{feature.var}_is_named",
        frames=(
            (feature.suite, f'book.close("{feature.code}-404")'),
            (feature.path, "closed = replace(self._all["),
        ),
        error=(f"KeyError: '{feature.code}-404'",),
    )


def _reproduction(feature: Feature, *, works: bool) -> Call:
    wrong = f"{feature.code.lower()}-00001"
    command = feature.fill(REPRODUCTION).format(wrong=wrong)
    if works:
        return bash(command, f"{feature.code}-00001: 37.50 € left")

    def run(ws: Workspace) -> str:
        trace = traceback(ws, ((feature.path, USE),), f"KeyError: ' {wrong}'")
        head, _, rest = trace.partition("\n")
        return f'{head}\n  File "<string>", line 7, in <module>\n{rest}'

    return bash(command, run, code=1)


def _edit(feature: Feature, path: str, change: tuple[str, str]) -> Call:
    return edit_file(path, *feature.pair(change))


def _built_by(ws: Workspace, feature: Feature) -> str:
    subject = f"Add {feature.words}s (harbor-{feature.ticket})"
    return next(f"{old.sha} {subject}" for old in ws.history if old.subject == subject)
