"""Widgets of chats and templates: a conversation, a box to write into, an editor; each has its half in the browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from nicegui import ui

from foveate.web.turns import Entry

# What a browser sends at once may have a million bytes, and a character up to four of them.
LONGEST: Final = 200_000


class ConversationView(ui.element, component="assets/conversation.js"):
    """What was said, from top to bottom; `on_again` has the last question asked again."""

    def __init__(
        self,
        label: str,
        *,
        on_again: Callable[[], Awaitable[None]],
        on_earlier: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__()
        self.props["label"] = label
        self.props["entries"] = []
        self.on("again", lambda: on_again())  # noqa: PLW0108  the event has arguments, and they are not wanted
        if on_earlier is not None:
            self.on("earlier", lambda: on_earlier())  # noqa: PLW0108

    def show(self, entries: Sequence[Entry], *, has_earlier: bool = False, waiting: str = "") -> None:
        """Show other entries; `waiting` says that more is on its way."""
        self.props["entries"] = list(entries)
        self.props["more"] = has_earlier
        self.props["waiting"] = waiting
        self.update()


class Composer(ui.element, component="assets/composer.js"):
    """A box to write into: Enter sends, Shift and Enter begin a new line.

    A draft outlives a reload, and what was sent but did not come into the log comes back.
    """

    def __init__(self, chat: str, on_say: Callable[[str], Awaitable[None]]) -> None:
        super().__init__()
        self.props["chat"] = chat
        self.props["longest"] = LONGEST
        self.props["busy"] = False
        self.props["messages"] = 0
        self.on("say", lambda event: on_say(str(event.args)))

    def show(self, *, is_busy: bool, messages: int) -> None:
        """Whether an answer is awaited, so that nothing can be sent, and how many messages the log has."""
        self.props["busy"] = is_busy
        self.props["messages"] = messages
        self.update()

    def settled(self) -> None:
        """What was sent last has come to an end; if the log does not have it, it comes back."""
        self.run_method("check")

    def restore(self, text: str) -> None:
        """Give back what could not be said."""
        self.run_method("restore", text)


class Editor(ui.element, component="assets/editor.js"):
    """A text to be changed under its name; without `on_save` it can only be read and tried."""

    def __init__(
        self,
        name: str,
        text: str,
        *,
        on_try: Callable[[str, str], Awaitable[None]],
        on_save: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__()
        self.props["name"] = name
        self.props["text"] = text
        self.props["longest"] = LONGEST
        self.props["readonly"] = on_save is None
        self.on("try", lambda event: on_try(*_named(event.args)))
        if on_save is not None:
            self.on("save", lambda event: on_save(*_named(event.args)))

    def insert(self, text: str) -> None:
        """Put a text where the cursor is."""
        self.run_method("insert", text)

    def saved(self) -> None:
        """What is in the editor is what is in the file."""
        self.run_method("saved")


def _named(sent: Any) -> tuple[str, str]:
    return str(sent["name"]), str(sent["text"])
