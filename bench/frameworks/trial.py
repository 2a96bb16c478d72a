"""A trial: what an adapter's agent does with Foveate in its loop, against a provider that enforces its rules."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from bench.frameworks.work import ASKED, BUDGET, CALLS, Sequence, bodies, provider, steps, tokens
from bench.provider import Script, Step, serve


class Adapter(Protocol):
    """One framework: how its agent is run, with Foveate or without."""

    name: str

    def budgeted(self, **options: Any) -> Any:
        """What puts Foveate into the loop; it has `threads`."""
        ...

    async def run(
        self,
        address: str,
        budgeted: Any,
        prompt: str,
        history: Any = None,
        *,
        thread: str = "1",
        streamed: bool = False,
    ) -> Any:
        """Run the agent with a prompt behind a history; the history that it has then."""
        ...

    def state(self, history: Any) -> list[Any]:
        """A history as plain data, without ids and times that the framework makes up."""
        ...

    def cut(self, history: Any) -> Any:
        """A history without what the last exchange left."""
        ...


def main(adapter: Adapter) -> None:
    """Run all trials of an adapter and print what came of them; the first that fails ends the process."""
    asyncio.run(_all(adapter))
    run_recipe(adapter.name)


async def _all(adapter: Adapter) -> None:
    for trial in (_forty_calls, _streamed, _two_threads, _an_edit_and_a_retry, _a_restart):
        begun = time.perf_counter()
        await trial(adapter)
        seconds = round(time.perf_counter() - begun, 1)
        found = {"framework": adapter.name, "trial": trial.__name__.strip("_"), "seconds": seconds}
        print(json.dumps(found), flush=True)


def run_recipe(name: str) -> None:
    """Run the snippets of a framework's page against a provider on this machine."""
    page = Path(__file__).parents[2] / "docs" / "recipes" / f"{name}.md"
    with serve(Script([])) as running:
        os.environ.update(OPENAI_BASE_URL=f"{running.address}/v1", OPENAI_API_KEY="none", GOOGLE_API_KEY="none")
        for code in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            exec(compile(code, str(page), "exec", dont_inherit=True), {"__name__": "__page__"})  # noqa: S102
    print(json.dumps({"framework": name, "trial": "recipe"}), flush=True)


async def _forty_calls(adapter: Adapter) -> None:
    with provider(budget=None) as untouched:
        alone = adapter.state(await adapter.run(untouched.address, None, ASKED))
    with provider() as running:
        budgeted = adapter.budgeted(budget=BUDGET)
        state = adapter.state(await adapter.run(running.address, budgeted, ASKED))
    _same("the state of the framework", state, alone)
    _same("the number of requests", len(running.requests), CALLS + 1)
    _check("the history exceeds the budget tenfold", tokens(untouched.requests[-1]) > 10 * BUDGET)
    _same("a request that was not reduced", bodies(running)[1], bodies(untouched)[1])
    session = budgeted.threads.session()
    _same("the calls that were recorded", session.calls, CALLS + 1)
    reported = sum(type(event.body).__name__ == "UsageReported" for event in session.events)
    _same("the reports of usage", reported, CALLS + 1)


async def _streamed(adapter: Adapter) -> None:
    with provider(calls=20) as running:
        await adapter.run(running.address, adapter.budgeted(budget=BUDGET), ASKED, streamed=True)
    _same("the number of requests", len(running.requests), 21)


async def _two_threads(adapter: Adapter) -> None:
    def which(request: Any) -> str:
        return "A" if "This is thread A" in json.dumps(request.body) else "B"

    with provider(answer=Sequence({"A": steps(14), "B": steps(14)}, which)) as running:
        budgeted = adapter.budgeted(budget=BUDGET)
        prompts = {name: f"{ASKED} This is thread {name}." for name in "AB"}
        await asyncio.gather(
            *(adapter.run(running.address, budgeted, text, thread=name) for name, text in prompts.items())
        )
    _same("the number of requests", len(running.requests), 30)
    _check("no request has both threads", all(json.dumps(one).count("This is thread") == 1 for one in bodies(running)))


async def _an_edit_and_a_retry(adapter: Adapter) -> None:
    with provider(calls=12) as running:
        budgeted = adapter.budgeted(budget=BUDGET)
        history = await adapter.run(running.address, budgeted, ASKED)
        cut = adapter.cut(history)
        await adapter.run(running.address, budgeted, "Which file was the last?", cut)
        edited = budgeted.threads.session()
        _check("the edited history has a branch of its own", edited.id.endswith("~2"))
        calls = edited.calls
        await adapter.run(running.address, budgeted, "Which file was the last?", adapter.cut(history))
    _same("the request that was sent again", bodies(running)[-1], bodies(running)[-2])
    _same("the calls that were recorded", budgeted.threads.session().calls, calls)


async def _a_restart(adapter: Adapter) -> None:
    script = [*steps(12), Step("Half of it is read."), *steps(6)]
    prompts = (ASKED, "And now the others.")
    with provider(answer=Sequence({"": script}, lambda _: "")) as whole:
        budgeted, history = adapter.budgeted(budget=BUDGET), None
        for prompt in prompts:
            history = await adapter.run(whole.address, budgeted, prompt, history)
    with (
        tempfile.TemporaryDirectory() as folder,
        provider(answer=Sequence({"": script}, lambda _: "")) as running,
    ):
        history = None
        for prompt in prompts:
            budgeted = adapter.budgeted(budget=BUDGET, store=Path(folder) / "a.db")
            history = await adapter.run(running.address, budgeted, prompt, history)
            budgeted.threads.close()
    _same("the requests of both", bodies(running), bodies(whole))


def _check(what: str, holds: bool) -> None:
    if not holds:
        raise AssertionError(f"{what}: it does not")


def _same(what: str, one: Any, other: Any) -> None:
    if one != other:
        both = zip(one, other, strict=False) if isinstance(one, list) and isinstance(other, list) else ()
        at = next((place for place, pair in enumerate(both) if pair[0] != pair[1]), None)
        shown = (one, other) if at is None else (one[at], other[at])
        raise AssertionError(f"{what} differ at {at}:\n{shown[0]!s:.1500}\n{shown[1]!s:.1500}")
