"""Files that a user names: they are read only if they end, and only up to a size."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from foveate.errors import ConfigError
from foveate.lab.config import config_at
from foveate.named_files import read_named_text
from foveate.work import load_design, load_issue, load_plan


@pytest.mark.parametrize("read", [read_named_text, load_issue, load_design, load_plan, config_at])
def test_a_device_is_refused(read: Callable[[Path], object]) -> None:
    """Its end would never come."""
    with pytest.raises(ConfigError, match=r"/dev/zero.*it is a device; give a regular file"):
        read(Path("/dev/zero"))


def test_a_text_that_is_too_large_is_refused_with_the_remedy(tmp_path: Path) -> None:
    """Up to the limit it is read, a byte order mark or not."""
    text = tmp_path / "text.md"
    text.write_bytes(b"\xef\xbb\xbfabc")
    assert read_named_text(text, most=6) == "abc"
    with pytest.raises(ConfigError, match=r"text\.md.*more than 5 bytes.*give a smaller one"):
        read_named_text(text, most=5)


def test_an_endless_pipe_is_read_up_to_the_limit(tmp_path: Path) -> None:
    """A shell gives pipes as files, and programs may write for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write_on() -> None:
        try:
            with pipe.open("wb") as file:
                while True:
                    file.write(b"x" * 1000)
        except BrokenPipeError:
            return

    writer = threading.Thread(target=write_on)
    writer.start()
    with pytest.raises(ConfigError, match="more than 5,000 bytes"):
        read_named_text(pipe, most=5000)
    writer.join(30)
    assert not writer.is_alive()


def test_standard_input_has_the_same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"x" * 100)))
    with pytest.raises(ConfigError, match="'-': it has more than 50 bytes"):
        read_named_text(Path("-"), most=50, standard_input=True)
