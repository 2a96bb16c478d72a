"""Plans: the newest state of every list that the agent or the user keeps.

Todo and task tools, plans and findings that the agent numbers in its words, what the user numbers, and tracker files.
A list takes the place of the older one of its kind; updates of single items are applied; a call that fails or is
refused changes nothing; a list that is finished, or that nobody came back to for some turns, is not shown any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from foveate.compile.facts.code_view import CodeView
from foveate.compile.facts.harness import part_text
from foveate.compile.facts.list_calls import ItemChange, ListChange, list_changes, plan_text
from foveate.compile.facts.written_lists import (
    ItemState,
    ListItem,
    WrittenList,
    checked_lines,
    shortened,
    stated_headings,
    written_lists,
)
from foveate.log.messages import Message, Text, ToolCall
from foveate.log.quoting import flatten_text
from foveate.log.semantics import parsed_arguments

ListKind = Literal["tasks", "proposal", "plan", "findings", "choices", "points", "requests", "tracker"]

_MAX_LISTS: Final = 24
_MAX_PENDING: Final = 64
_MAX_ANSWER: Final = 240
# Lists with more items show those that are done as a number.
_SHOWN: Final = 24
# So many turns of the user later a list is not shown any more; one that is finished, sooner.
_AGES: Final[Mapping[ListKind, int]] = {
    "tasks": 10,
    "proposal": 4,
    "plan": 3,
    "findings": 3,
    "choices": 2,
    "points": 1,
    "requests": 5,
    "tracker": 1_000,
}
_FINISHED_AGE: Final = 2
_MARKS: Final[Mapping[ItemState, str]] = {"open": "[ ]", "active": "[~]", "done": "[x]", "dropped": "[-]", "none": "-"}
_DONE_LEAD: Final = re.compile(
    r"\b(?:done|changes? made|fixed|addressed|committed|pushed|completed?|status of|finished|summari[sz]e the changes|"
    r"what (?:changed|I did)|all (?:two|three|four|five|six|\d) )\b|(?:完成|已修复|做了)",
    re.IGNORECASE,
)
_PLAN_LEAD: Final = re.compile(
    r"\b(?:plan|next(?: steps?)?|steps|to ?do|remaining|will (?:fix|do)|fixing now|let me (?:fix|address)|order|"
    r"open(?: items?)?|changes required|fixes to apply|recommend\w*|i['’]?d implement|implementation|required work|"
    r"i['’]ll (?:make|do|fix)|needs? (?:fixing|tests|to)|still|coherent version)\b|计划|步骤|接下来",
    re.IGNORECASE,
)
_CHOICE_LEAD: Final = re.compile(
    r"\b(?:options?|decide|choose|which|alternatives?|questions?|want to know|prefer|either)\b|[?？]|选项|方案",
    re.IGNORECASE,
)
_FINDING_LEAD: Final = re.compile(
    r"\b(?:findings?|comments?|review|issues?|problems?|gaps?|bugs?|violations?|flag|feedback|loose ends)\b|问题|意见",
    re.IGNORECASE,
)
_SEVERITY: Final = re.compile(r"\W{0,3}(?:critical|high|medium|low|major|minor|nit|bug|P\d)\b", re.IGNORECASE)
_PAST: Final = re.compile(r"\W{0,3}(?:[A-Z]?[a-z]+ed|Made|Wrote|Ran|Built)\b|✅|`[0-9a-f]{7,12}`")
_PICKED: Final = re.compile(
    r"(?:^|\b(?:do|fix|try|option|options|yes to|go with|take|number|step|steps|and|let['’]?s do|first|skip|not)\s)"
    r"#?(?:\d{1,2}|[a-dA-D])\b(?!\.\d)|^\s{0,4}\d{1,2}[.)]\s|第.{1,3}[个条项种]|选[一二三四\d]",
    re.IGNORECASE | re.MULTILINE,
)
_LONGEST_PICK: Final = 600
_TRACKERS: Final = (".md", ".markdown", ".mdx", ".txt", ".org", ".rst")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanList:
    """A list as it stands.

    `by` is `agent`, `user`, or the path of a file; `message_id` and `order` are of its last change. `verdict` says what
    became of a proposal, `answer` what the user said to it; `unsure` if a file may have changed since.
    """

    kind: ListKind
    title: str
    items: tuple[ListItem, ...]
    by: str
    message_id: str
    order: int
    turn: int = 0
    verdict: str = ""
    answer: str = ""
    unsure: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether all of its items say that they are done or dropped."""
        return all(item.state in ("done", "dropped") for item in self.items)

    def lines(self) -> tuple[str, ...]:
        """The list in full, an item a line, with its state; each text is one line, so that none can be taken for more.

        Of a very long list those that are done are one line.
        """
        head = f"{self.kind} by {self.by} ({self.message_id})"
        title = f": {flatten_text(self.title)}" if self.title else ""
        notes = "; ".join(note for note in (self.verdict, "may have changed" if self.unsure else "") if note)
        lines = [f"{head}{title}{f' [{notes}]' if notes else ''}"]
        finished = [item for item in self.items if item.state in ("done", "dropped")]
        if len(self.items) > _SHOWN and finished:
            lines.append(f"{_MARKS['done']} {len(finished)} done or dropped")
            finished_ids = set(map(id, finished))
            lines += [_line(item) for item in self.items if id(item) not in finished_ids]
        else:
            lines += [_line(item) for item in self.items]
        if self.answer:
            lines.append(f"the user to this: {flatten_text(self.answer)}")
        return tuple(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """The lists that are in force, the one that changed last at the end."""

    lists: tuple[PlanList, ...] = ()


def _line(item: ListItem) -> str:
    key = f"{item.key}. " if item.key else ""
    return f"{_MARKS[item.state]} {flatten_text(key + item.text)}{f' ({item.status})' if item.status else ''}"


class PlansBuilder:
    """Keeps the lists up message by message; its size is bounded however long the log is."""

    __slots__ = ("_asked", "_lists", "_pending", "_turn")

    def __init__(self) -> None:
        self._lists: dict[str, PlanList] = {}
        # What a list was before a call whose result is not there yet.
        self._pending: dict[str, tuple[str, PlanList | None]] = {}
        # The last list of the agent's words, which the user may answer.
        self._asked = ""
        self._turn = 0

    def feed(self, message: Message, order: int) -> None:
        """Take one recorded message."""
        match message.role:
            case "user" if message.meta.kind == "message" and not message.meta.extra.get("program"):
                self._take_user(message, order)
            case "assistant":
                self._take_words(message, order)
                for call in message.calls:
                    self._take_call(call, message.id, order)
            case "tool" if message.result is not None:
                self._take_result(message.result.call_id, message)
            case _:
                return

    def plans(self) -> Plans:
        """The lists as they are now."""
        return Plans(lists=tuple(one for one in self._lists.values() if self._is_in_force(one)))

    def _is_in_force(self, one: PlanList) -> bool:
        age = self._turn - one.turn
        if one.kind == "points" and not one.answer:
            return False
        return age < (_FINISHED_AGE if one.is_finished else _AGES[one.kind] + bool(one.answer))

    def _put(self, key: str, one: PlanList) -> None:
        self._lists.pop(key, None)
        if one.items:
            self._lists[key] = one
        for oldest in list(self._lists)[: max(0, len(self._lists) - _MAX_LISTS)]:
            del self._lists[oldest]

    def _take_user(self, message: Message, order: int) -> None:
        words = "\n".join(part_text(part.text).words for part in message.parts if isinstance(part, Text)).strip()
        if not words:
            return
        self._turn += 1
        asked, self._asked = self._lists.get(self._asked), ""
        if asked is not None and len(words) <= _LONGEST_PICK and _PICKED.search(words) is not None:
            key = next(key for key, one in self._lists.items() if one is asked)
            self._put(key, replace(asked, answer=words[:_MAX_ANSWER], turn=self._turn))
            return
        for found in written_lists(words)[-1:]:
            self._put("requests", self._list_of(found, "requests", "user", message.id, order))

    def _take_words(self, message: Message, order: int) -> None:
        text = message.text
        found = written_lists(text, least=2) if text else ()
        for one in found:
            kind = _kind_of(one)
            if kind is None:
                self._report(message.id)
            elif len(one.items) > 2 or kind in ("choices", "points"):
                key = f"{kind} in words"
                self._put(key, self._list_of(one, kind, "agent", message.id, order))
                self._asked = key
        if found == () and text and not message.calls:
            self._asked = ""

    def _report(self, message_id: str) -> None:
        """The agent says what it has done: a plan in its words is none any more."""
        planned = self._lists.get("plan in words")
        if planned is not None and not planned.verdict:
            self._lists["plan in words"] = replace(planned, verdict=f"reported as done in {message_id}")

    def _list_of(self, found: WrittenList, kind: ListKind, by: str, message_id: str, order: int) -> PlanList:
        return PlanList(
            kind=kind, title=found.lead, items=found.items, by=by, message_id=message_id, order=order, turn=self._turn
        )

    def _take_call(self, call: ToolCall, message_id: str, order: int) -> None:
        arguments = parsed_arguments(call)
        proposed = plan_text(call.name, arguments)
        if proposed:
            self._propose(call, proposed, message_id, order)
            return
        for change in list_changes(call, arguments):
            known = self._lists.get(change.list_key)
            self._pending[call.id] = (change.list_key, known)
            self._put(change.list_key, self._changed(known, change, message_id, order))
        for oldest in list(self._pending)[: max(0, len(self._pending) - _MAX_PENDING)]:
            del self._pending[oldest]

    def _changed(self, known: PlanList | None, change: ListChange, message_id: str, order: int) -> PlanList:
        items = known.items if known is not None else ()
        if change.replaces:
            items = tuple(one.item for one in change.items)
        elif change.begins and known is not None and known.is_finished:
            # What comes after a list that is finished is a new one.
            items = tuple(one.item for one in change.items)
        else:
            items = tuple(_updated(items, change.items))
        return PlanList(
            kind="tasks",
            title=change.title,
            items=items,
            by="agent",
            message_id=message_id,
            order=order,
            turn=self._turn,
        )

    def _propose(self, call: ToolCall, text: str, message_id: str, order: int) -> None:
        title, items = _proposal(text)
        self._pending[call.id] = ("proposal", self._lists.get("proposal"))
        self._put(
            "proposal",
            PlanList(
                kind="proposal",
                title=title,
                items=items,
                by="agent",
                message_id=message_id,
                order=order,
                turn=self._turn,
                verdict="proposed",
            ),
        )

    def _take_result(self, call_id: str, message: Message) -> None:
        if call_id not in self._pending:
            return
        key, before = self._pending.pop(call_id)
        known = self._lists.get(key)
        refused = message.meta.outcome not in (None, "ok")
        if key == "proposal" and known is not None:
            verdict = "rejected by the user" if refused else "approved by the user"
            said = message.text.partition("the user said:\n")[2].strip()
            self._lists[key] = replace(known, verdict=verdict, answer=said[:_MAX_ANSWER])
        elif refused:
            self._lists.pop(key, None)
            if before is not None:
                self._put(key, before)
        elif known is not None:
            self._lists[key] = replace(known, items=tuple(_numbered(known.items, call_id, message.text)))


def tracker_lists(view: CodeView) -> tuple[PlanList, ...]:
    """The lists in tracker files, as far as the newest known text of the files has them."""
    found: dict[str, dict[str, ListItem]] = {}
    last: dict[str, tuple[str, bool]] = {}
    for piece in view.pieces:
        if not piece.path.lower().endswith(_TRACKERS):
            continue
        text = "\n".join(piece.lines)
        items = stated_headings(text) or checked_lines(text)
        # Headings with numbers are known again by them, whatever was reworded.
        found.setdefault(piece.path, {}).update({item.key or item.text: item for item in items})
        if items:
            last[piece.path] = (piece.sources[-1], not piece.current)
    orders = {change.path: change.order for change in view.changes}
    return tuple(
        PlanList(
            kind="tracker",
            title="",
            items=tuple(items.values()),
            by=path,
            message_id=last[path][0],
            order=orders.get(path, -1),
            unsure=last[path][1],
        )
        for path, items in found.items()
        if len(items) > 2
    )


def _kind_of(found: WrittenList) -> ListKind | None:
    """What a list in the agent's words is; None for a report of what was done."""
    items = found.items
    if found.is_checked:
        return "plan"
    most = len(items) / 2
    past = sum(_PAST.match(item.text) is not None for item in items)
    if _DONE_LEAD.search(found.lead) is not None or past > most:
        return None
    if sum("?" in item.text or "？" in item.text for item in items) >= most or _CHOICE_LEAD.search(found.lead):
        return "choices"
    if _PLAN_LEAD.search(found.lead) is not None:
        return "plan"
    if _FINDING_LEAD.search(found.lead) or sum(_SEVERITY.match(item.text) is not None for item in items) > most:
        return "findings"
    return "points"


def _updated(items: Sequence[ListItem], changes: Sequence[ItemChange]) -> Iterator[ListItem]:
    by_key = {change.item.key: change for change in changes}
    for item in items:
        change = by_key.pop(item.key, None)
        if change is None:
            yield item
        elif not change.removes:
            text = change.item.text or item.text
            state = change.item.state if change.item.state != "none" else item.state
            yield ListItem(text=text, state=state, key=item.key, status=change.item.status)
    for change in by_key.values():
        if not change.removes:
            yield replace(change.item, text=change.item.text or f"item {change.item.key}")


_GIVEN_NUMBER: Final = re.compile(r"#(\d{1,9})\b|\"id\": ?\"?([\w-]{1,60})|\b[Ii][Dd]:? (\w{1,60})")


def _numbered(items: Sequence[ListItem], call_id: str, result: str) -> Iterator[ListItem]:
    """Items with the number that the result of a call gave to the one that it made."""
    for item in items:
        if item.key != f"call {call_id}":
            yield item
            continue
        given = _GIVEN_NUMBER.search(result[:1_000])
        yield replace(item, key=next((one for one in given.groups() if one), "") if given is not None else "")


def _proposal(text: str) -> tuple[str, tuple[ListItem, ...]]:
    """The title of a plan, and its steps: numbered, else its headings and the points at its margin."""
    lines = [line for line in text.split("\n") if line.strip()]
    title = shortened(lines[0].lstrip("# ")) if lines else ""
    found = [item for one in written_lists(text, least=2) for item in one.items]
    points = [line for line in lines[1:] if line.startswith(("## ", "### ", "- ", "* "))]
    if len(found) < 2:
        found = [ListItem(text=shortened(line.lstrip("#-* "))) for line in points]
    return title, tuple(found[:_SHOWN]) or (ListItem(text=shortened(text)),)
