"""Forked children: they wait for no thread of their parent, and use nothing that is their parent's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.store import engines

from foveate import Session

store_url = engines.store_url
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# The children of a process get so many seconds; one that hangs is ended, and counted.
CHILDREN = """
import os, signal, sys, threading, time
from foveate import Session, StoreError
from foveate.budget import SplintrCounter

def child(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return pid

def ended(pid, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"
"""


def forked(code: str, *arguments: str) -> str:
    """What a process of its own prints that forks others."""
    whole = [sys.executable, "-W", "ignore", "-c", CHILDREN + code, *arguments]
    done = subprocess.run(whole, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_child_counts_many_texts_though_its_parent_has() -> None:
    """The tokenizer's threads are not there in the child; a grandchild counts as well."""
    code = """
texts = [f"the {number} quick brown foxes " * 20 for number in range(500)]
counter = SplintrCounter()
expected = counter.count_many(texts)
def count():
    assert counter.count_many(texts) == expected
def count_twice():
    count()
    assert ended(child(count)) == 0
print([ended(pid) for pid in [child(count), child(count), child(count_twice)]])
"""
    assert forked(code) == "[0, 0, 0]"


def test_a_child_counts_though_another_thread_was_counting() -> None:
    """What the tokenizer's threads had locked at that moment is free in the child."""
    code = """
texts = [f"{number} {number * 7919} jumps over " * 30 for number in range(300)]
counter = SplintrCounter()
expected, over = counter.count_many(texts), threading.Event()
def go_on():
    while not over.is_set():
        counter.count_many(texts)
threading.Thread(target=go_on, daemon=True).start()
def count():
    assert counter.count_many(texts) == expected
    assert [counter.count(text) for text in texts] == expected
print([ended(child(count)) for _ in range(5)])
over.set()
"""
    assert forked(code) == "[0, 0, 0, 0, 0]"


def test_a_child_is_refused_a_session_that_another_thread_was_inside_of() -> None:
    """It is half-way through something there, for good: said at once, instead of waiting for a thread that is gone."""
    code = """
session, idle = Session(budget=4_000), Session(budget=4_000)
session.append({"role": "user", "content": "hello"})
inside, go_on = threading.Event(), threading.Event()
def compact_when(state, messages, budget):
    inside.set()
    go_on.wait(60)
    return False
session.use("default", compact_when=compact_when)
thread = threading.Thread(target=session.compile)
thread.start()
inside.wait(60)
def use():
    assert [message.text for message in session.messages] == ["hello"]
    idle.append({"role": "user", "content": "not in use"})
    for _ in range(2):
        try:
            session.append({"role": "user", "content": "lost?"})
        except StoreError as error:
            assert "in use by another thread when the process was forked; open it anew" in str(error)
        else:
            raise AssertionError("nothing was said")
print(ended(child(use)))
go_on.set()
thread.join()
session.append({"role": "assistant", "content": "the parent goes on"})
"""
    assert forked(code) == "0"


def test_children_go_on_with_a_session_while_their_parent_writes(store_url: str) -> None:
    """Each has connections of its own, and nothing is lost; other threads of the parent use the store meanwhile."""
    code = """
from foveate.store import Store
store = Store(sys.argv[1])
over = threading.Event()
def go_on(name):
    with Session.open(store, name, budget=4_000) as session:
        number = 0
        while not over.is_set():
            session.append({"role": "user", "content": f"{name}-{number}"})
            number += 1
            # Others must come to write, too: SQLite keeps no queue.
            time.sleep(0.05)
threads = [threading.Thread(target=go_on, args=(f"busy{number}",)) for number in range(2)]
for thread in threads:
    thread.start()
session = Session.open(store, "a", budget=4_000)
def write(number):
    session.append({"role": "user", "content": f"child-{number}"})
    session.compile()
print([ended(pid) for pid in [child(lambda: write(number)) for number in range(4)]])
over.set()
for thread in threads:
    thread.join()
session.close()
"""
    assert forked(code, store_url) == "[0, 0, 0, 0]"
    with Session.open(store_url, "a") as session:
        assert sorted(message.text for message in session.messages) == [f"child-{number}" for number in range(4)]
