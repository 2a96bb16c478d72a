"""Made-up outcomes for tests of the page: seeded numbers of a likely size, and no measurement."""

from __future__ import annotations

from random import Random
from typing import Any

from bench.outcome import (
    ArmInfo,
    EngineOutcome,
    EngineRow,
    Family,
    GrowthCurve,
    GrowthOutcome,
    GrowthPoint,
    PeerInfo,
    RecallOutcome,
    RecallRow,
    RecallTable,
    ReplayOutcome,
    Run,
    SessionInfo,
    Stamp,
    Tally,
    Times,
)

# family, name, cost and references kept at 8,000 and at 32,000, share over, share invalid, milliseconds
ARMS: tuple[tuple[Family, str, float, float, float, float, float, float, float], ...] = (
    ("foveate", "foveate", 0.27, 0.90, 0.38, 0.978, 0, 0, 4.1),
    ("foveate", "foveate-patient", 0.25, 0.88, 0.37, 0.97, 0, 0, 3.9),
    ("foveate", "foveate-transparent", 0.29, 0.91, 0.40, 0.979, 0, 0, 4.4),
    ("own", "untouched", 1.0, 1.0, 1.0, 1.0, 0.78, 0.005, 0.01),
    ("own", "drop-exact", 0.56, 0.81, 0.79, 0.949, 0.005, 0, 0.07),
    ("own", "drop-steps", 0.29, 0.79, 0.44, 0.924, 0.005, 0, 0.04),
    ("own", "mask-10", 1.25, 0.43, 1.25, 0.86, 0.63, 0, 0.13),
    ("own", "mask-steps", 0.29, 0.79, 0.43, 0.925, 0.005, 0, 0.05),
    ("own", "identifier-dump", 0.30, 0.753, 0.46, 0.905, 0.02, 0, 0.85),
    ("peer", "langchain-trim", 0.55, 0.80, 0.80, 0.945, 0, 0, 16.0),
    ("peer", "langchain-clear", 0.42, 0.41, 0.55, 0.80, 0.5, 0, 17.0),
    ("peer", "langchain-summarise", 0.31, 0.72, 0.47, 0.90, 0.004, 0.003, 32.0),
    ("peer", "pydantic-ai-harness-tiered", 0.30, 0.80, 0.45, 0.93, 0.12, 0, 42.0),
    ("peer", "pydantic-ai-harness-sliding", 0.28, 0.77, 0.43, 0.92, 0.10, 0, 11.0),
    ("peer", "agent-framework-truncation", 0.28, 0.75, 0.22, 0.86, 0, 0, 500.0),
    ("peer", "agent-framework-window", 0.48, 0.66, 0.70, 0.88, 0, 0, 3900.0),
    ("peer", "strands-sliding", 0.70, 0.62, 0.71, 0.80, 0.31, 0, 1.1),
    ("peer", "strands-summarizing", 0.52, 0.55, 0.60, 0.79, 0.2, 0.0, 2.1),
    ("peer", "autogen-token-limited", 0.60, 0.71, 0.79, 0.93, 0, 0.64, 7000.0),
    ("peer", "autogen-buffered", 0.71, 0.40, 0.72, 0.61, 0.2, 0.0, 0.3),
    ("peer", "openai-agents-trimmer", 0.58, 0.35, 0.60, 0.78, 0.6, 0, 3.4),
    ("peer", "haystack-sliding", 0.29, 0.78, 0.43, 0.92, 0.001, 0, 13.0),
    ("peer", "haystack-pruning", 0.35, 0.6, 0.5, 0.86, 0.3, 0, 14.0),
    ("peer", "llama-index-buffer", 0.58, 0.79, 0.80, 0.944, 0, 0, 118.0),
    ("peer", "llama-index-memory", 0.33, 0.74, 0.49, 0.91, 0, 0, 96.0),
    ("peer", "google-adk-filter", 0.61, 0.65, 0.62, 0.72, 0.2, 0, 6.6),
    ("peer", "semantic-kernel-truncation", 0.43, 0.7, 0.45, 0.83, 0.3, 0.02, 3.4),
    ("peer", "headroom-compress", 1.9, 0.22, 1.7, 0.63, 0.77, 0, 335.0),
    ("peer", "contextweaver-build", 1.1, 0.03, 1.2, 0.05, 0.3, 1.0, 1348.0),
)
STAMP = Stamp(
    date="2026-11-16",
    command="uv run foveate-bench replay",
    commit="0123abc+",
    versions={"python": "3.11.7", "foveate": "0.1.0"},
    machine="2 cores, 8 GB",
    seconds=1234.5,
)
SOURCES = ("claude_code", "codex", "mini_swe_agent", "tau_bench")


def replay(
    *, sessions: int = 12, budgets: tuple[int, ...] = (8_000, 32_000, 100_000), count: int = 99
) -> ReplayOutcome:
    """All arms at all budgets; the last budget is on generated sessions."""
    chosen = ARMS[:count]
    return ReplayOutcome(
        stamp=STAMP,
        arms=tuple(_arm(family, name) for family, name, *_ in chosen),
        peers=(
            PeerInfo(name="langchain", versions={"langchain": "1.4.7", "langchain-core": "1.4.2"}),
            PeerInfo(name="strands", versions={"strands-agents": "1.62.0"}),
            PeerInfo(name="memgpt", reason="hello: it ended; ImportError: no module `x|y` <here> [1]*"),
        ),
        runs=tuple(_run(budget, sessions, chosen) for budget in budgets),
        files=181,
        duplicates=14,
        left_out=("broken.jsonl: line 3 is no JSON",),
        prices={"anthropic": "claude-sonnet-4-5: $3.0", "openai": "gpt-5.1: $1.25", "gemini": "gemini-2.5-pro: $1.25"},
    )


def growth(lengths: tuple[int, ...] = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)) -> GrowthOutcome:
    """Peers grow with the history, Foveate does not."""
    random = Random(3)
    curves = []
    for family, name, *_, ms in ARMS:
        base = ms / 1_400
        points = [
            _point(length, ms if family == "foveate" else max(0.01, base * length * random.uniform(0.8, 1.2)))
            for length in lengths
        ]
        kept = [point for point in points if point.p50_ms < 20_000]
        stopped = "" if len(kept) == len(points) else f"a request took more than 20 s at {len(kept)} lengths"
        curves.append(GrowthCurve(arm=name, family=family, points=tuple(kept), stopped=stopped))
    live = tuple(_point(length, 0.7) for length in lengths)
    return GrowthOutcome(stamp=STAMP, budget=8_000, steps=12, curves=tuple(curves), live=live)


def engine() -> EngineOutcome:
    """Five arms in three sessions."""
    shares = {"untouched": 0.4, "drop-exact": 0.3, "drop-steps": 0.7, "mask-steps": 0.68, "foveate": 0.8}
    names = ("claude_code-1", "codex-2", "mini_swe_agent-3")
    rows = tuple(
        EngineRow(
            arm=arm,
            session=name,
            calls=40,
            prompt_tokens=70_000,
            reused=int(70_000 * reuse),
            simulated=int(70_000 * (reuse - 0.01)),
            prompt_ms=40 * 9_000 * (1 - reuse),
            over=0,
            stopped="the time was up" if arm == "untouched" and name == "codex-2" else "",
        )
        for arm, reuse in shares.items()
        for name in names
    )
    sessions = tuple(SessionInfo(name=name, source="codex", messages=90, calls=40, tokens=90_000) for name in names)
    return EngineOutcome(stamp=STAMP, model="SmolLM2-135M", window=4_096, budget=2_000, sessions=sessions, rows=rows)


def recall() -> RecallOutcome:
    """Two materials; BM25 is ahead of Foveate in the second one."""
    return RecallOutcome(
        stamp=STAMP,
        tables=(
            _recall_table("tau-bench, joined", {"foveate": 0.3, "recency": 0.1, "bm25": 0.2}),
            _recall_table("generated conversations", {"foveate": 0.3, "recency": 0.05, "bm25": 0.4}),
        ),
        methods={"foveate": "Session(budget=B).compile()", "recency": "the newest whole messages that fit"},
    )


def _arm(family: Family, name: str) -> ArmInfo:
    package = next((peer for peer in ("langchain", "strands", "haystack") if name.startswith(peer)), "")
    return ArmInfo(
        name=name,
        family=family,
        peer=package or (name.rpartition("-")[0] if family == "peer" else ""),
        call=f'{name.replace("-", "_")}(history, budget=B | None, by="last")',
        knows_budget=name not in {"untouched", "mask-10", "google-adk-filter"},
        is_default="trim" not in name and name not in {"foveate-patient", "foveate-transparent"},
        note="The summary is `fixed` and says nothing." if "summar" in name else "",
    )


def _run(
    budget: int, sessions: int, chosen: tuple[tuple[Family, str, float, float, float, float, float, float, float], ...]
) -> Run:
    random = Random(budget)
    infos = tuple(
        SessionInfo(name=f"{SOURCES[n % 4]}-{n:04x}", source=SOURCES[n % 4], messages=90, calls=40, tokens=70_000)
        for n in range(sessions)
    )
    material = "generated" if budget == 100_000 else "recorded"
    return Run(
        budget=budget,
        material=material,
        split="report" if material == "recorded" else "all",
        sessions=infos,
        left_out=2 if budget == 8_000 else 0,
        tallies={arm[1]: tuple(_tally(arm, budget, random) for _ in range(sessions)) for arm in chosen},
        times={arm[1]: Times(p50=arm[8], p95=3 * arm[8], longest=9 * arm[8]) for arm in chosen},
        problems={arm[1]: ("codex-0001 call 7: invalid: result without `call` <x>",) for arm in chosen if arm[7] > 0},
    )


def _tally(
    arm: tuple[Family, str, float, float, float, float, float, float, float], budget: int, random: Random
) -> Tally:
    family, name, cheap, low, dear, high, over, invalid, ms = arm
    cost, kept = (cheap, low) if budget == 8_000 else (dear, high)
    calls, due, raw = 40, 120, 2_800_000
    cost *= random.uniform(0.96, 1.04) if name != "untouched" else 1
    kept = min(1.0, kept * random.uniform(0.97, 1.03)) if name != "untouched" else 1.0
    over_calls = round(calls * over) if budget == 8_000 else round(calls * over / 4)
    held = round(0.8 * due * (1 - kept)) if family == "foveate" else 0
    is_judged = name == "untouched"
    judged = calls if is_judged else calls - over_calls
    return Tally(
        calls=calls,
        sent=calls,
        invalid=round(calls * invalid),
        broken=round(calls * invalid),
        over=over_calls,
        tokens=round(raw * min(1.0, cost * 0.4)),
        prefix=round(raw * min(1.0, cost * 0.4) * 0.8),
        cost=(8.4 * cost, 3.5 * cost * 1.05, 3.5 * cost * 1.02),
        cached=(1, 1, 1),
        raw_tokens=raw,
        raw_cost=(8.4, 3.5, 3.5),
        references=due,
        judged_references=due if is_judged else round(due * (1 - over_calls / calls)),
        kept=round(kept * due),
        restorable=held,
        visible=min(due, round(kept * due) + 2),
        judged=judged,
        seconds=ms * calls / 1_000,
        **_kinds_kept(kept, judged),
    )


def _kinds_kept(kept: float, judged: int) -> dict[str, Any]:
    """What is kept of each kind, by the share of all that is."""
    return {
        "far": 40,
        "far_kept": round(40 * kept * kept * kept),
        "observed": 30,
        "observed_kept": round(30 * kept),
        "modified": 20,
        "modified_kept": round(20 * kept),
        "recent": round(judged * 0.99),
        "users": judged * min(1.0, kept + 0.05),
        "first": round(judged * min(1.0, kept + 0.05)),
        "errors": 5,
        "errors_kept": 4,
    }


def _point(length: int, ms: float) -> GrowthPoint:
    return GrowthPoint(
        messages=length,
        tokens=190 * length,
        cold_ms=9 * ms + length / 100,
        p50_ms=ms,
        p95_ms=4 * ms,
        megabytes=5 + length / 500,
    )


def _recall_table(name: str, bases: dict[str, float]) -> RecallTable:
    budgets = (500, 1_000, 2_000, 4_000, 8_000)
    rows = tuple(
        RecallRow(
            method=method,
            budget=budget,
            questions=120,
            any=min(1.0, base + 0.2 + step * 0.12),
            all=base + step * 0.12,
            all_low=base + step * 0.12 - 0.05,
            all_high=base + step * 0.12 + 0.05,
            tokens=budget * 0.93,
            milliseconds=2.5,
        )
        for method, base in bases.items()
        for step, budget in enumerate(budgets)
    )
    kinds = {"single": {method: base + 0.1 for method, base in bases.items()}, "multi": dict(bases)}
    return RecallTable(
        name=name, conversations=20, questions=120, rows=rows, kinds=kinds, kinds_budget=2_000, note="Made up."
    )
