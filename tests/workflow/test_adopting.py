"""What a command leaves behind comes to an end, whatever it does to get away; nobody else's processes do."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from foveate.workflow import commands, supervising
from tests.workflow.test_workspace import gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to another parent")
LEAVE = "until test -s pid; do sleep 0.02; done; kill -9 $PPID; sleep 91"


@pytest.mark.parametrize(
    "command",
    [
        f"ulimit -x 5; setsid env -i sleep 97 & echo $! > pid; {LEAVE}",
        # It kills its supervisor first, and lowers the limit then.
        "setsid env -i bash -c 'kill -9 '$PPID'; ulimit -x 3; echo $$ > pid; exec sleep 98' & sleep 91",
        f"(ulimit -x 5; setsid env -i bash -c 'setsid sleep 96 & echo $! > pid; wait') & {LEAVE}",
        "ulimit -x 5; setsid env -i sleep 95 & echo $! > pid; kill -STOP $PPID; sleep 91",
    ],
    ids=["lowered", "lowered later", "grandchild", "stopped supervisor"],
)
async def test_what_gave_up_its_mark_ends_without_its_supervisor(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session, an environment and a limit of its own do not make it anybody else's child."""
    monkeypatch.setattr(commands, "_END_SECONDS", 0.5)
    before = supervising.children()

    await commands.run(command, tmp_path, timeout=3)

    assert gone(int((tmp_path / "pid").read_text()))
    assert set(supervising.children()) <= set(before), "those that ended are buried"


async def test_only_what_commands_started_is_ended(tmp_path: Path) -> None:
    """Another child of the process, also one in a session of its own, and a command that runs at the same time."""
    other = await asyncio.create_subprocess_exec("sleep", "90", start_new_session=True)
    second = asyncio.create_task(commands.run("sleep 1.5; echo well", tmp_path, timeout=20))
    try:
        await asyncio.sleep(0.3)
        await commands.run("ulimit -x 5; kill -9 $PPID; sleep 91", tmp_path, timeout=10)
        assert other.returncode is None
        assert await second == commands.Ran(code=0, output="well\n")
        assert other.returncode is None
    finally:
        other.kill()
        await other.wait()


async def test_a_process_adopts_only_while_commands_run(tmp_path: Path) -> None:
    """Whoever uses us as a library is left as it was."""
    assert not supervising.is_subreaper()
    running = asyncio.create_task(commands.run("sleep 0.5", tmp_path, timeout=10))
    await asyncio.sleep(0.2)
    assert supervising.is_subreaper()
    await running
    assert not supervising.is_subreaper()


async def test_a_command_in_a_command_is_marked_too(tmp_path: Path) -> None:
    """Its limit is lowered already, and only a lower one can be set."""
    code = (
        "import asyncio, pathlib; from foveate.workflow import commands; "
        "print(asyncio.run(commands.run('ulimit -Hx', pathlib.Path(), timeout=9)).output)"
    )
    ran = await commands.run(f'ulimit -Hx; {sys.executable} -c "{code}"', tmp_path, timeout=30)
    outer, inner = map(int, ran.output.split())
    assert inner < outer
