"""Lists in texts: numbered lines, check boxes, Step, Phase and Task, and headings that state how far they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from foveate.compile.facts.word_set import word_set

ItemState = Literal["open", "active", "done", "dropped", "none"]

MAX_ITEMS: Final = 60
_MAX_ITEM: Final = 240
_MAX_TEXT: Final = 60_000
_CHECK_BOX: Final = re.compile(r"(\s{0,12})(?:[-*+] |\d{1,3}[.)] )?\[([ xX~/✓✔-])\] ?(\S.{0,2000})")
_NUMBERED: Final = re.compile(r"(\s{0,12})(?:\*\*)?(?:#{1,6} )?(?:\*\*)?(\d{1,3}|[A-Z])[.):] {1,4}(\S.{0,2000})")
_NAMED: Final = re.compile(
    r"(\s{0,12})(?:[-*+] |#{1,6} |\*\*){0,2}((?:Step|Phase|Task|Issue|Finding|Comment) \w{1,4})\b[.:)*]{0,3}"
    r"\s{0,4}[—–-]{0,2}\s{0,4}(\S.{0,2000})",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"#{2,6} (\S.{0,400})")
_STATUS: Final = re.compile(r"\W{0,6}(?:status|state)\W{1,6}([\w-]{2,20}(?: progress)?)\b", re.IGNORECASE)
_FENCE: Final = re.compile(r"\s{0,8}(?:```|~~~)")
_BLANK_OR_RULE: Final = re.compile(r"\s*(?:[-=*_]{3,}\s*)?")
_ITEM_NUMBER: Final = re.compile(r"(?:#|issue )?(\d{1,4})[.):]\s")

_SAID_DONE: Final = re.compile(
    r"✅|✔|☑|\balready (?:fixed|done|addressed|resolved|there)\b|[—–-] done\b|\(done\)", re.IGNORECASE
)
_SAID_OPEN: Final = re.compile(
    r"❌|\bstill needs?\b|[—–-] needs? (?:a )?(?:fix|adding|work)|\bnot (?:yet )?(?:done|fixed|addressed)\b",
    re.IGNORECASE,
)
_OPEN: Final = word_set(
    "pending open todo not_started notstarted not-started new queued backlog planned unresolved partial"
)
_ACTIVE: Final = word_set(
    "in_progress in-progress inprogress active doing working wip running current started in_review"
)
_DONE: Final = word_set("""
    completed complete done finished closed resolved fixed merged passed success succeeded verified implemented shipped
    """)
_DROPPED: Final = word_set("cancelled canceled deleted skipped dropped abandoned wontfix rejected removed obsolete")
_BOXES: Final[dict[str, ItemState]] = {" ": "open", "x": "done", "X": "done", "✓": "done", "✔": "done", "~": "active"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListItem:
    """One entry of a list; `key` is what the list calls it, `status` its own word where that says more than `state`."""

    text: str
    state: ItemState = "none"
    key: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenList:
    """The items of a list in a text, and the line that leads to it."""

    items: tuple[ListItem, ...]
    lead: str = ""

    @property
    def is_checked(self) -> bool:
        """Whether its items say how far they are."""
        return any(item.state != "none" for item in self.items)


def state_of(word: str) -> tuple[ItemState, str]:
    """What a status says, and the word itself where it is not one of the usual ones."""
    plain = word.strip().lower().replace(" ", "_")
    usual: tuple[tuple[ItemState, frozenset[str]], ...] = (
        ("open", _OPEN),
        ("active", _ACTIVE),
        ("done", _DONE),
        ("dropped", _DROPPED),
    )
    for state, words in usual:
        if plain in words:
            return state, plain if plain == "partial" else ""
    return "open", plain[:40]


def written_lists(text: str, *, least: int = 3) -> tuple[WrittenList, ...]:
    r"""The lists in a text that have at least so many items, in order.

    >>> found = written_lists("Plan:\n1. Read it\n2. Fix it,\n   all of it\n3. Test")
    >>> found[0].lead, [(item.key, item.text) for item in found[0].items]
    ('Plan:', [('1', 'Read it'), ('2', 'Fix it, all of it'), ('3', 'Test')])
    """
    lists: list[WrittenList] = []
    items: list[ListItem] = []
    kind, indent, lead, last = "", 0, "", ""
    for line in _outside_fences(text[:_MAX_TEXT]):
        found = _item(line)
        if found is None:
            if items and _goes_on(line, indent):
                items[-1] = _longer(items[-1], line)
            elif items and line.strip() and not line[:1].isspace():
                _finish(lists, items, lead, least)
                items, kind = [], ""
            last = line if line.strip() else last
            continue
        one, one_kind, one_indent = found
        if items and one_indent > indent:
            # What belongs to an item is no item.
            continue
        if items and (one_kind != kind or _starts_again(items, one)):
            _finish(lists, items, lead, least)
            items = []
        if not items:
            kind, indent, lead = one_kind, one_indent, last.strip()
        items.append(one)
    _finish(lists, items, lead, least)
    return tuple(lists)


def stated_headings(text: str) -> tuple[ListItem, ...]:
    r"""The headings of a text below which a line states how far they are.

    >>> stated_headings("### 4. Cache\n\nStatus: done\n\n### 5. Locks\n\nStatus: open\n")[1]
    ListItem(text='Locks', state='open', key='5', status='')
    """
    found: list[ListItem] = []
    heading, since = "", 0
    for line in _outside_fences(text[:_MAX_TEXT]):
        named = _HEADING.match(line)
        if named is not None:
            heading, since = named.group(1).strip(), 0
            continue
        stated = _STATUS.match(line) if heading and since < 4 else None
        since += bool(line.strip())
        if stated is not None:
            state, word = state_of(stated.group(1))
            number = _ITEM_NUMBER.match(heading)
            title = heading[number.end() :] if number is not None else heading
            key = number.group(1) if number is not None else ""
            found.append(ListItem(text=shortened(title), state=state, key=key, status=word))
            heading = ""
    return tuple(found[:MAX_ITEMS])


def checked_lines(text: str) -> tuple[ListItem, ...]:
    """All check boxes of a text, whatever stands between them."""
    found = (_checked(line) for line in _outside_fences(text[:_MAX_TEXT]))
    return tuple(one for one in found if one is not None)[:MAX_ITEMS]


def shortened(text: str) -> str:
    """A text in one line, its first sentences if it is long."""
    flat = " ".join(text.replace("**", "").split())
    if len(flat) <= _MAX_ITEM:
        return flat
    end = max(flat.rfind(mark, 60, _MAX_ITEM) for mark in (". ", "; ", " — ", " - ", "。"))
    return flat[: end + 1].rstrip() if end > 0 else flat[: flat.rfind(" ", 0, _MAX_ITEM)] + " …"


def _outside_fences(text: str) -> Iterator[str]:
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line) is not None:
            fenced = not fenced
        elif not fenced:
            yield line


def _checked(line: str) -> ListItem | None:
    box = _CHECK_BOX.fullmatch(line.rstrip()[:2_000])
    if box is None:
        return None
    return ListItem(text=shortened(box.group(3)), state=_BOXES.get(box.group(2), "active"))


def _item(line: str) -> tuple[ListItem, str, int] | None:
    line = line.rstrip()[:2_000]
    box = _checked(line)
    if box is not None:
        return box, "box", len(line) - len(line.lstrip())
    for kind, pattern in (("number", _NUMBERED), ("name", _NAMED)):
        found = pattern.fullmatch(line)
        if found is not None:
            text = shortened(found.group(3))
            return ListItem(text=text, state=_said_state(text), key=found.group(2)), kind, len(found.group(1))
    return None


def _said_state(text: str) -> ItemState:
    """What an item says of itself."""
    if _SAID_DONE.search(text) is not None:
        return "done"
    return "open" if _SAID_OPEN.search(text) is not None else "none"


def _goes_on(line: str, indent: int) -> bool:
    """Whether a line is the rest of the item before it."""
    return len(line) - len(line.lstrip()) > indent and bool(line.strip()) and line.lstrip()[:2] not in ("- ", "* ")


def _longer(item: ListItem, line: str) -> ListItem:
    if len(item.text) >= _MAX_ITEM or item.text.endswith("…"):
        return item
    return replace(item, text=shortened(f"{item.text} {line.strip()}"))


def _starts_again(items: Sequence[ListItem], one: ListItem) -> bool:
    return one.key in ("1", "A") and items[-1].key != ""


def _finish(lists: list[WrittenList], items: Sequence[ListItem], lead: str, least: int) -> None:
    if len(items) >= least:
        lists.append(WrittenList(items=tuple(items[:MAX_ITEMS]), lead=shortened(lead)))
