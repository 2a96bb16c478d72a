"""A context computed in the plain way, to compare with: words as they stand, cuts on the way, nothing checked.

It is what one writes first. Each thing that is wrong with it has a promise in `test_promises.py` that it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from foveate.knowledge.models import ContextTask
from foveate.knowledge.signals import DOMAINS
from foveate.recall.stopwords import STOPWORDS

Record = dict[str, Any]
LIMITS: Final = {"easy": (3, 2, 5, 2), "normal": (5, 3, 10, 4), "complex": (10, 5, 20, 8)}


class PlainWay:
    """Knowledge in lists, and a context from it."""

    def __init__(self) -> None:
        self.graph: list[Record] = []
        self.map: list[Record] = []
        self.tasks: dict[str, Record] = {}

    def begin(self, task_id: str) -> None:
        self.tasks[task_id] = {"name": task_id, "status": "in_progress"}

    def learn(self, task_id: str, handoff: Mapping[str, Any], *, day: str, tags: Sequence[str] = ()) -> None:
        """After a task: its patterns become nodes, its files entries of the map."""
        self.tasks[task_id] = {"name": task_id, "status": "completed", "summary": f"did {task_id}", "handoff": handoff}
        self.graph.append({"id": task_id, "type": "task", "tags": list(tags), "summary": f"did {task_id}"})
        for pattern in handoff.get("patterns_discovered", ()):
            self.graph.append(
                {"type": "pattern", "tags": pattern.get("applies_to", []), "summary": pattern["pattern"], "file": None}
            )
        for file in handoff.get("files_created", ()):
            component = file["path"].rpartition("/")[2].partition(".")[0]
            self.map.append({"component": component, "location": file["path"], "notes": file.get("purpose", "")})

    def nodes(self) -> list[Record]:
        return self.graph

    def domains(self, objective: str) -> list[str]:
        return self._signals(ContextTask(objective=objective))["domains"]

    def patterns(self, task: ContextTask) -> list[str]:
        computed = self._computed(task)
        return [one["pattern"] for one in (*computed["patterns"], *computed["inherited_patterns"])]

    def told(self, task: ContextTask) -> str:
        """The context in words."""
        computed = self._computed(task)
        lines = ["## Context (Computed)", "### Patterns to Follow"]
        lines += [f"- **{one['pattern']}**" for one in computed["patterns"]]
        lines += ["### Warnings", *(f"- ⚠️ **{one['severity']}**: {one['issue']}" for one in computed["warnings"])]
        lines += ["### Prior Work"]
        for prior in computed["prior_work"]:
            lines += [f"#### {prior['task']}", prior["summary"], "**Files Created:**"]
            lines += [f"- `{one['file']}`: {one.get('reason', '')}" for one in prior["files_created"]]
        lines += ["### Code References", "| Location | Component | Notes |", "|----------|-----------|-------|"]
        lines += [f"| `{one['location']}` | {one['component']} | {one['notes']} |" for one in computed["code"]]
        lines += ["### Open Questions (Blocking)", *(f"- **{one['question']}**" for one in computed["questions"])]
        return "\n".join(lines)

    def _signals(self, task: ContextTask) -> dict[str, list[str]]:
        text = " ".join((task.objective, *task.acceptance_criteria))
        keywords = [word.lower() for word in re.findall(r"\w+", text) if word.lower() not in STOPWORDS]
        domains = [domain for domain, triggers in DOMAINS.items() if set(keywords) & set(triggers)]
        return {"keywords": keywords, "domains": domains, "files": re.findall(r"[\w./-]+\.\w+", text)}

    def _by_tags(self, tags: Sequence[str], limit: int) -> list[Record]:
        found = [node for node in self.graph if set(node["tags"]) & set(tags)]
        return sorted(found, key=lambda node: -len(set(node["tags"]) & set(tags)))[:limit]

    def _computed(self, task: ContextTask) -> dict[str, list[Any]]:
        signals = self._signals(task)
        matches = [*self._by_tags(signals["keywords"], 20), *self._by_tags(signals["domains"], 10)]
        matches = [node for place, node in enumerate(matches) if node not in matches[:place]]
        patterns = [{"pattern": node["summary"]} for node in matches if node["type"] == "pattern"][:5]
        warnings = [{"issue": node["summary"], "severity": "medium"} for node in matches if node["type"] == "gotcha"]
        done = [self.tasks[id] for id in task.dependencies if self.tasks[id]["status"] == "completed"]
        most = LIMITS[task.complexity]
        return {
            "patterns": patterns[: most[0]],
            "warnings": warnings[:3][: most[1]],
            "related_tasks": [node["id"] for node in matches if node["type"] == "task"][:5],
            "prior_work": [
                {
                    "task": one["name"],
                    "summary": one["summary"],
                    "files_created": one["handoff"].get("dependencies_for_next", ()),
                }
                for one in done
            ][: most[3]],
            "inherited_patterns": [one for prior in done for one in prior["handoff"].get("patterns_discovered", ())],
            "inherited_warnings": [one for prior in done for one in prior["handoff"].get("gotchas", ())],
            "questions": [
                one for prior in done for one in prior["handoff"].get("open_questions", ()) if one.get("blocking")
            ],
            "code": self._code(signals)[: most[2]],
        }

    def _code(self, signals: Mapping[str, Sequence[str]]) -> list[Record]:
        scored = [(self._score(signals, entry), entry) for entry in self.map]
        scored.sort(key=lambda one: -one[0])
        return [entry for score, entry in scored if score][:10]

    def _score(self, signals: Mapping[str, Sequence[str]], entry: Record) -> int:
        component, location, notes = (entry[name].lower() for name in ("component", "location", "notes"))
        score = sum(2 * (word in component) + (word in location) for word in signals["keywords"])
        score += sum(domain in notes for domain in signals["domains"])
        return score + sum(3 * (file in location) for file in signals["files"])
