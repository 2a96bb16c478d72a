"""Salvage: what can be saved of a handoff that is broken, or of words that were never one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, get_args

import msgspec
from msgspec.structs import replace

from foveate.knowledge.handoff_outcome import outcome_said
from foveate.knowledge.handoff_rules import LISTS, item_problems, path_problems
from foveate.knowledge.handoff_text import FIELDS, body_of, repeated_fields, sentences, words_of
from foveate.knowledge.models import FileForNext, Gotcha, Handoff, NextStep, Pattern, Question, Result
from foveate.knowledge.paths import paths_in
from foveate.knowledge.symbols import language_of
from foveate.work.reading import parsed

_OUTCOMES: Final = get_args(Result)
_ITEMS: Final = {one.name: get_args(one.type)[0] for one in msgspec.structs.fields(Handoff) if one.name in LISTS}
_LONGEST: Final = 500
# Of what is broken each is read by itself; more than these nobody handed over.
_MOST_ITEMS: Final = 500
_MOST_FILES: Final = 200
_MOST_TEXT: Final = 150_000
_CUES: Final = {
    "gotcha": re.compile(r"\b(?:watch out|be careful|beware|careful with|caveat|gotcha)\b", re.IGNORECASE),
    "pattern": re.compile(r"\b(?:patterns?|always use|convention|follow the)\b", re.IGNORECASE),
    "question": re.compile(r"\?|\b(?:questions?|unclear|not sure|undecided)\b", re.IGNORECASE),
    "step": re.compile(r"\b(?:next|then|should|todo|to do|follow-up)\b", re.IGNORECASE),
}
# Files that are no code, and that people name without a folder.
_DATA_FILE: Final = re.compile(
    r".+\.(?:json|jsonl|ya?ml|toml|ini|cfg|conf|env|txt|rst|sql|css|scss|html?|xml|csv|tsv|lock|tf|ipynb|graphql)",
    re.IGNORECASE,
)
# Names that look like files, and are those of libraries.
_LIBRARY: Final = re.compile(
    r"(?:node|vue|next|nuxt|react|express|three|d3|ember|backbone|angular|alpine|chart|moment|deno|bun|nest)\.js",
    re.IGNORECASE,
)
_TOP: Final = re.compile(rf"(?:^|[{{,])[ \t]*[\"']?({'|'.join(FIELDS)})[\"']?[ \t]*:", re.MULTILINE)
_DASH: Final = re.compile(r"^(?=[ \t]*-[ \t])", re.MULTILINE)
_BRACES: Final = re.compile(r"\{[^{}]*\}?")
_PAIR: Final = re.compile(r"[\s{-]*[\"']?(\w+)[\"']?[ \t]*:[ \t]*(.*)", re.DOTALL)


def salvaged_handoff(text: str) -> Handoff:
    """What can be saved of a text, marked as salvaged.

    Of a handoff that breaks rules that is all items which break none; of one that cannot be read as a whole, the fields
    and items that can be read alone; of free text, the sentences that have a cue.
    """
    body = body_of(text)
    try:
        given = parsed(body.text, "the handoff", short=True) if body.has_fields else None
    except ValueError:
        return _broken(text, body.text)
    if not isinstance(given, Mapping):
        return _free(text)
    kept = _kept(given)
    # Of two outcomes nobody knows which is meant.
    outcome = None if "outcome" in repeated_fields(body.text) else _outcome(given.get("outcome"))
    if outcome is None and not any(kept.values()) and not body.marked:
        # A sentence may begin with `outcome:` too.
        return _free(text)
    return msgspec.convert({"outcome": outcome or "partial", **kept, "salvaged": True}, Handoff)


def _free(text: str) -> Handoff:
    """Outcome, warnings, patterns, questions, next steps and files, by the cues of free text."""
    is_cut = len(text) > _MOST_TEXT
    text = text[:_MOST_TEXT]
    # As mappings: each sentence once, in order, and found without comparing it with all others.
    found: dict[str, dict[str, None]] = {kind: {} for kind in _CUES}
    said = [one[:_LONGEST] for one in sentences(words_of(text)) if len(one) > 3]
    for sentence in said:
        kind = next((kind for kind, cue in _CUES.items() if cue.search(sentence)), None)
        if kind is not None:
            found[kind][sentence] = None
    # What is handed over as a warning is not said a second time as the reason to read a file.
    others = "\n".join(dict.fromkeys(one for one in said if not any(one in some for some in found.values())))
    files, are_more = _first(_files_in(text), _MOST_FILES)
    left_out = {f"files after the first {_MOST_FILES}": are_more, f"all after {_MOST_TEXT:,} characters": is_cut}
    questions = [*found["question"], *(_left_out(what) for what, is_so in left_out.items() if is_so)]
    return Handoff(
        outcome=outcome_said(said),
        patterns_discovered=tuple(Pattern(pattern=one) for one in found["pattern"]),
        gotchas=tuple(Gotcha(issue=one) for one in found["gotcha"]),
        open_questions=tuple(Question(question=one) for one in questions),
        suggested_next_steps=tuple(NextStep(step=one) for one in found["step"]),
        dependencies_for_next=tuple(FileForNext(file=path, reason=_line_with(path, others)) for path in files),
        salvaged=True,
    )


def _files_in(text: str) -> Iterator[str]:
    """The files that a text names."""
    return (path for path in paths_in(text) if _is_file(path) and not any(path_problems("", path)))


def _first(items: Iterator[Any], most: int) -> tuple[list[Any], bool]:
    """The first items, and whether there are more."""
    found = list(islice(items, most + 1))
    return found[:most], len(found) > most


def _left_out(what: str) -> str:
    """Says that a salvaged handoff is not complete, where its reader sees it."""
    return f"Left out of this salvaged handoff: {what}. What did the original say?"


def _line_with(path: str, lines: str) -> str:
    """The first line that names a path; empty if there is none."""
    place = lines.find(path)
    if place < 0:
        return ""
    return lines[lines.rfind("\n", 0, place) + 1 :].partition("\n")[0]


def _is_file(path: str) -> bool:
    """Whether words name a file: `config.domains` and `Node.js` only look like one."""
    folder, _, name = path.rpartition("/")
    return bool(folder or _DATA_FILE.fullmatch(name) or (language_of(name) and not _LIBRARY.fullmatch(name)))


def _broken(text: str, body: str) -> Handoff:
    """What the parts of a handoff say that cannot be read as a whole, and the words before it."""
    parts = dict(_parts(body))
    firsts = {name: _first(_items(name, part), _MOST_ITEMS) for name, part in parts.items() if name in LISTS}
    kept = _kept({name: items for name, (items, _) in firsts.items()})
    whole = msgspec.convert({"outcome": "partial", **kept}, Handoff)
    words = _free(words_of(text))
    both = {name: (*getattr(whole, name), *getattr(words, name)) for name in LISTS}
    cut = [_left_out(f"`{name}` after the first {_MOST_ITEMS}") for name, (_, are_more) in firsts.items() if are_more]
    both["open_questions"] = (*both["open_questions"], *(Question(question=one) for one in cut))
    return replace(words, outcome=_outcome(parts.get("outcome")) or "partial", **both)


def _outcome(said: object) -> Result | None:
    """The outcome that a word means, however it is written; a handoff that is broken never makes one up."""
    word = re.match(r"[\s\"']*(\w+)", said) if isinstance(said, str) else None
    return next((one for one in _OUTCOMES if word is not None and word[1].lower() == one), None)


def _kept(given: Mapping[Any, Any]) -> dict[str, list[object]]:
    """The items of all lists that are right, without the fields of them that are wrong."""
    kept: dict[str, list[object]] = {}
    for name in LISTS:
        items = given.get(name)
        righted = [_righted(name, item) for item in items] if isinstance(items, list) else []
        kept[name] = [item for item in righted if item is not None]
    return kept


def _righted(name: str, item: object) -> object:
    """An item without the fields of it that are wrong; nothing if what it must say is."""
    main = LISTS[name]
    given: Mapping[Any, Any] = item if isinstance(item, Mapping) else {main: item}
    said = {main: given.get(main)}
    if not _is_right(name, said):
        return None
    return {key: value for key, value in given.items() if _is_right(name, {**said, key: value})}


def _is_right(name: str, item: object) -> bool:
    try:
        one = msgspec.convert({"outcome": "completed", name: [item]}, Handoff)
    except msgspec.ValidationError:
        return False
    return not any(item_problems(one))


def _parts(body: str) -> Iterator[tuple[str, str]]:
    """The fields of a handoff, each with its text up to the next one."""
    found = list(_TOP.finditer(body))
    for place, one in enumerate(found):
        yield one[1], body[one.end() : found[place + 1].start() if place + 1 < len(found) else len(body)]


def _items(name: str, part: str) -> Iterator[object]:
    """The items of a list, each read by itself."""
    braces = (text if text.endswith("}") else f"{text}}}" for text in _BRACES.findall(part))
    for item in _DASH.split(part)[1:] or [f"- {text}" for text in braces]:
        read = _listed(item)
        yield from [dict(_pairs(name, item))] if read is None else read


def _pairs(name: str, item: str) -> Iterator[tuple[str, object]]:
    """The fields of an item that cannot be read, each with what stands behind its colon."""
    known = _ITEMS[name].__struct_fields__
    for piece in re.split(rf"\n|,[ \t]*(?=[\"']?(?:{'|'.join(known)})[\"']?[ \t]*:)", item):
        pair = _PAIR.match(piece)
        if pair is not None and pair[1] in known:
            text = pair[2].rstrip("}, \t\r")
            # What an item must say is a text, whatever it looks like.
            read = _listed(f"- {text}") or [text]
            yield pair[1], text.strip("\"'") if pair[1] == LISTS[name] else read[0]


def _listed(text: str) -> list[object] | None:
    """The list that a text is in YAML, if it is one."""
    try:
        read = parsed(text, "a list", short=True)
    except ValueError:
        # Either it cannot be read, or it has a date that no calendar has.
        return None
    return read if isinstance(read, list) else None
