"""Pieces: the small elements that all pages are made of; every text in them is shown as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments

from foveate.web.fates import colour

_EMIT_VALUE: Final = "(event) => emit(event.target.value)"


class Words(TextElement):
    """A text in a tag of its own; whatever it holds, it is shown and not interpreted."""

    def __init__(self, tag: str, text: str, classes: str = "") -> None:
        super().__init__(tag=tag, text=text)
        self.classes(classes)


def box(classes: str = "", tag: str = "div") -> Element:
    """A container."""
    return ui.element(tag).classes(classes)


def say(text: str, classes: str = "", tag: str = "p") -> Words:
    """A sentence."""
    return Words(tag, text, classes)


def prose(tag: str, text: str, classes: str = "") -> Element:
    """A text of ours in a tag, what stands between backticks as code; whatever it holds, it is shown as text."""
    pieces = text.split("`")
    if len(pieces) == 1 or len(pieces) % 2 == 0:
        return Words(tag, text, classes)
    with box(classes, tag) as made:
        for place, piece in enumerate(pieces):
            if piece:
                Words("code" if place % 2 else "span", piece)
    return made


def link(text: str, target: str, classes: str = "") -> Words:
    """A link to another page."""
    shown = Words("a", text, classes)
    shown.props["href"] = target
    return shown


def button(text: str, on_click: Callable[[], Any] | None = None, kind: str = "", *, key: str = "") -> Words:
    """A button; `key` is the one that presses it from anywhere on the page."""
    made = Words("button", text, f"button {kind}")
    made.props["type"] = "button"
    if key:
        made.props["data-key"] = key
        made.props["title"] = f"key {key}"
    if on_click is not None:
        made.on("click", lambda: on_click())  # noqa: PLW0108  the event has arguments, and they are not wanted
    return made


def chip(text: str, kind: str = "", *, fate: str | None = None) -> Words:
    """A small label; with a fate it has its colour."""
    made = Words("span", text, f"chip {kind}")
    if fate is not None:
        made.classes("dot").style(f"--fate: {colour(fate)}")
    return made


def entry(label: str, value: str, on_change: Callable[[str], Any], *, width: str = "", number: bool = False) -> Element:
    """A field to type into; tells its value when it is left or Enter is pressed."""
    with box("field", "label"):
        Words("span", label)
        made = _input(value, "number" if number else "text")
    made.on("change", lambda event: on_change(_text(event)), js_handler=_EMIT_VALUE)
    return made.style(f"width: {width}" if width else "")


def search(hint: str, on_change: Callable[[str], Any], value: str = "") -> Element:
    """A field to search with; tells what is typed as it is typed. The key / goes to it."""
    with box("search", "label"):
        Words("span", hint, "hidden-visually")
        made = _input(value, "search")
    made.props["placeholder"] = hint
    made.props["data-key"] = "/"
    made.on("input", lambda event: on_change(_text(event)), js_handler=_EMIT_VALUE, throttle=0.25, leading_events=False)
    return made


def choice(label: str, options: Mapping[str, str], value: str, on_change: Callable[[str], Any]) -> Element:
    """A field to choose from, by key."""
    with box("field", "label"):
        Words("span", label)
        with box("entry", "select") as made:
            for key, text in options.items():
                option = Words("option", text)
                option.props["value"] = key
                if key == value:
                    option.props["selected"] = True
    made.on("change", lambda event: on_change(_text(event)), js_handler=_EMIT_VALUE)
    return made


def checks(options: Mapping[str, str], chosen: Iterable[str], on_change: Callable[[str, bool], Any]) -> Element:
    """Labels that are switched on and off, each with a word about it."""
    on = set(chosen)
    with box("checks") as made:
        for name, about in options.items():
            with box("button", "label") as one:
                one.props["title"] = about
                switch = ui.element("input")
                switch.props["type"] = "checkbox"
                if name in on:
                    switch.props["checked"] = True
                switch.on(
                    "change",
                    lambda event, name=name: on_change(name, bool(event.args)),
                    js_handler="(event) => emit(event.target.checked)",
                )
                Words("span", name)
    return made


def facts(pairs: Iterable[tuple[str, str]], kind: str = "") -> None:
    """Names with what they stand for; `kind` wide puts several beside each other where there is room."""
    with box(f"facts {kind}", "dl"):
        for name, value in pairs:
            with box():
                Words("dt", name)
                prose("dd", value)


def stats(figures: Iterable[tuple[str, str, str]]) -> None:
    """Figures that matter: a name, a number, and a word about it."""
    with box("card stats", "dl"):
        for name, number, note in figures:
            with box():
                Words("dt", name)
                Words("dd", number)
                if note:
                    Words("dd", note, "note")


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> None:
    """A plain table; a column is a name and a class, and a cell is text."""
    with box("scroll"), box("list", "table"):
        with box(tag="thead"), box(tag="tr"):
            for name, kind in columns:
                Words("th", name, kind)
        with box(tag="tbody"):
            for row in rows:
                with box(tag="tr"):
                    for cell, (_, kind) in zip(row, columns, strict=True):
                        prose("td", cell, kind)


def empty(title: str, *sentences: str, command: str = "") -> Element:
    """What stands where there is nothing yet, and the command that changes it; more may be put into it."""
    with box("card empty") as made:
        Words("h2", title)
        for sentence in sentences:
            prose("p", sentence)
        if command:
            Words("pre", command, "command")
    return made


def notice(text: str, kind: str = "", *, strong: str = "") -> Element:
    """A message to people: `kind` is bad, warn or tip."""
    with box(f"notice {kind}") as made:
        made.props["role"] = "alert" if kind == "bad" else "note"
        if strong:
            prose("b", f"{strong} ")
        prose("span", text)
    return made


def waiting(text: str) -> Words:
    """What stands where something is on its way."""
    made = Words("div", text, "waiting")
    made.props["role"] = "status"
    return made


def progress(share: float | None, text: str) -> None:
    """How far something is; None if that cannot be told."""
    say(text, "soft small")
    with box("progress") as bar:
        bar.props["role"] = "progressbar"
        box().style(f"width: {100 * share if share is not None else 100:.1f}%")


def _input(value: str, kind: str) -> Element:
    made = ui.element("input").classes("entry")
    made.props["type"] = kind
    # Not `value`, which would be set again with every update, over what somebody is typing.
    made.props["defaultValue"] = value
    return made


def _text(event: GenericEventArguments) -> str:
    return str(event.args)
