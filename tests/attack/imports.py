"""Logs that were damaged, packed or blown up: an import says what is wrong and leaves the store as it was."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from foveate.errors import FoveateError, LogError
from foveate.importers.finding import logs_in
from foveate.store import Store
from foveate.store.check import check
from foveate.store.importing import import_log
from tests.attack.attack import BROKEN, Scene
from tests.attack.formats import FORMATS, Record, openai_log
from tests.importers.logs import ODD

_MEGABYTE: Final = 1 << 20
# An import may not need more memory than this, however large the log is.
_MEMORY_LIMIT_MB: Final = 900


def import_mutated(scene: Scene) -> Iterator[str]:
    """Import logs of which bytes, values or packing were changed."""
    with Store(scene.folder / "mutated.db") as store:
        kinds: set[str] = set()
        for number in range(scene.count):
            path = scene.folder / f"log-{number}{scene.rng.choice(('.json', '.jsonl', '.zip', '.gz', '.txt'))}"
            path.write_bytes(mutated(scene.rng))
            before = {info.session_id: info.events for info in store.sessions()}
            try:
                imported = _import(store, path)
            except FoveateError as error:
                after = {info.session_id: info.events for info in store.sessions()}
                yield (
                    f"refused as {type(error).__name__}"
                    if after == before
                    else f"{BROKEN}refused, but the store changed"
                )
            except Exception as error:  # noqa: BLE001  what else comes out is the finding
                yield f"{BROKEN}{path.name}: {error!r}"
            else:
                kinds |= {one.importer.name for one in logs_in([path]).logs if imported}
                yield "imported" if imported else "nothing found in it"
            path.unlink()
        problems = check(store)
        if len(kinds) < min(4, scene.count // 20):
            yield f"{BROKEN}only logs of {sorted(kinds)} were imported, so not every importer was attacked"
        if problems:
            yield f"{BROKEN}the store is damaged: {problems[0]}"


def _import(store: Store, path: Path) -> int:
    found = logs_in([path])
    if found.refused:
        raise LogError(found.refused[0][1])
    arrivals = 0
    for one in found.logs:
        with one.open() as log:
            arrivals += len(import_log(store, log, one.importer.name).arrivals)
    return arrivals


def mutated(rng: Random) -> bytes:
    """A log of some program with some of its values, bytes or its packing changed."""
    _, made, joined = FORMATS[rng.choice(list(FORMATS))]
    records = made(rng.randint(1, 6), rng.randint(1, 50))
    for _ in range(rng.randint(0, 3)):
        _change(rng.choice(records), rng)
    text = joined(records)
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice((0, 0, 1, 3, 30))):
        place = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[place] = rng.randrange(256)
            case 1:
                del data[place : place + rng.randint(1, 200)]
            case 2:
                data[place:place] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 20)))
            case _:
                data[place:place] = data[max(0, place - 100) : place]
        if not data:
            return b""
    return _packed(bytes(data), rng)


def _change(record: Record, rng: Random) -> None:
    """Put something odd somewhere into a record, however deep."""
    name = rng.choice(list(record))
    inner = record[name][0] if isinstance(record[name], list) and record[name] else record[name]
    if isinstance(inner, dict) and inner and rng.random() < 0.7:
        _change(inner, rng)
    else:
        # Of its own: the next change may go into it.
        record[name] = deepcopy(rng.choice(ODD))


def _packed(data: bytes, rng: Random) -> bytes:
    match rng.randrange(6):
        case 0:
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(rng.choice(("log.json", "../../etc/cron.d/x", "/abs.json")), data)
            return packed.getvalue()
        case 1:
            return gzip.compress(data)[: rng.choice((None, 40))]
        case _:
            return data


def import_large(scene: Scene) -> Iterator[str]:
    """Import one log above 2 GB (in the suite of 20 MB), in bounded memory."""
    megabytes = scene.count
    path = scene.folder / "large.jsonl"
    write_large(path, megabytes)
    command = [sys.executable, "-m", "foveate", "import", str(path), "--store", str(scene.folder / "large.db")]
    command += ["--max-size", f"{2 * megabytes}M"]
    done = watched(command)
    path.unlink()
    if done.status:
        yield f"{BROKEN}exit {done.status}: {done.said[-1:]}"
    elif done.megabytes > _MEMORY_LIMIT_MB:
        yield f"{BROKEN}{done.megabytes:,.0f} MB of memory for {megabytes:,} MB"
    else:
        yield f"of {megabytes:,} MB imported with at most {done.megabytes:,.0f} MB of memory"


class Watched(NamedTuple):
    """How a command ended: its status (None if it had to be killed), the most memory it had, and what it said."""

    status: int | None
    megabytes: float
    said: list[str]


def watched(command: Sequence[str], *, seconds: float = math.inf) -> Watched:
    """Run a command for at most some seconds, and look at its memory."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        until, peak = time.monotonic() + seconds, 0.0
        while process.poll() is None and time.monotonic() < until:
            peak = max(peak, _peak_megabytes(process.pid))
            time.sleep(0.05)
        status = process.poll()
        process.kill()
        process.wait()
        said.seek(0)
        return Watched(status, peak, said.read().strip().splitlines())


def _peak_megabytes(pid: int) -> float:
    """The most memory that a process had since its program began; what `wait4` tells includes its parent's."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except ProcessLookupError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def write_large(path: Path, megabytes: int) -> None:
    """A log of so many megabytes, in lines of about 100 kB."""
    with path.open("w", encoding="utf-8") as file:
        written, number = 0, 0
        while written < megabytes * _MEGABYTE:
            for one in openai_log(1, 8_000):
                line = json.dumps({**one, "n": number}) + "\n"
                file.write(line)
                written += len(line)
            number += 1
