"""How long an output is good, by a clock that stands still until it is turned."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foveate.log.events import DiagnosticRecorded
from foveate.scripts.kept import Kept, executed, finished, kept_output
from foveate.session import Session
from foveate.store import Store


@pytest.fixture(autouse=True)
def zone() -> Iterator[None]:
    """Days begin and end where the reader lives."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Shanghai")
        time.tzset()
        yield
    time.tzset()


def at(text: str) -> float:
    return datetime.fromisoformat(f"{text}+08:00").timestamp()


MADE = "2026-03-04T23:30"  # a Wednesday


@pytest.mark.parametrize(
    ("cache", "now", "good"),
    [
        ("session", "2036-01-01T00:00", True),
        ("daily", "2026-03-04T23:59", True),
        ("daily", "2026-03-05T00:01", False),
        ("weekly", "2026-03-08T23:59", True),
        ("weekly", "2026-03-09T00:01", False),
        (60, "2026-03-04T23:30:59", True),
        (60, "2026-03-04T23:31:00", False),
        ("daily", "2026-03-04T23:29", False),
        (86_400, "2026-03-04T23:29", False),
        (None, MADE, False),
    ],
)
def test_an_output_is_good_as_long_as_its_rule_says(cache: object, now: str, good: bool) -> None:
    """To the minute, by the reader's calendar; never one from the future."""
    assert Kept(text="x", key="k", made=at(MADE)).is_good("k", cache, at(now)) is good


def test_a_week_begins_when_the_reader_says() -> None:
    """From Sunday on it is another week, if weeks begin on Sunday."""
    kept, sunday = Kept(text="x", key="k", made=at(MADE)), at("2026-03-08T00:01")

    assert kept.is_good("k", "weekly", sunday, week_start=0)
    assert not kept.is_good("k", "weekly", sunday, week_start=6)


def test_an_output_of_something_else_is_never_good() -> None:
    """Whatever the rule."""
    assert not Kept(text="x", key="k", made=at(MADE)).is_good("other", "session", at(MADE))


def test_the_newest_output_is_found_behind_whatever_followed(tmp_path: Path) -> None:
    """With the files it was written to, by runs that failed later, too."""
    with Store(tmp_path / "context.db") as store:
        assert kept_output(store, "workflow:a/A") is None
        with Session.open(store, "workflow:a/A", budget=1_000) as session:
            session.record(executed("A", "old", "k1"), time=1.0)
            session.record(executed("A", "文" * 50_000, "k2"), time=2.0)
            session.record(finished("A", ["a.md"]), time=3.0)
            for number in range(500):
                session.record(DiagnosticRecorded(code="x", phase="x", text=f"{number}"))
            session.record(finished("A", ["b.md"], reason="no"), time=4.0)

        kept = kept_output(store, "workflow:a/A")

    assert kept == Kept(text="文" * 50_000, key="k2", made=2.0, files=("b.md", "a.md"))


def test_days_are_those_of_the_reader() -> None:
    """The clock of this test is not UTC."""
    assert datetime.fromtimestamp(0, UTC).astimezone().utcoffset() == timedelta(hours=8)
