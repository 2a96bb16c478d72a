"""Messages in the local model's own tokens: what budgets, prompts and the simulated cache are counted in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from foveate.integrations.llama_cpp import LocalModel
from foveate.lab.chat import Chat, calls_of, content_of

_BEGIN: Final = "<|im_start|>"
_END: Final = "<|im_end|>\n"


class ModelTokens:
    """Tokens of texts and messages; what was counted is remembered.

    A message has the form of the model's own template, and is tokenised by itself, so that the tokens of a prompt are
    exactly those of its messages. The template has no place for tool calls: each is written as `name(arguments)` on a
    line behind the text.
    """

    def __init__(self, model: LocalModel) -> None:
        self.model = model
        self._begin = model.tokenized(_BEGIN, special=True)
        self._end = model.tokenized(_END, special=True)
        # What stands behind the messages: the model is to answer.
        self.turn = [*self._begin, *model.tokenized("assistant\n")]
        self._known: dict[str, list[int]] = {}

    @property
    def name(self) -> str:
        """The model that the tokens are of."""
        return self.model.name

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return len(self._tokens(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        return [self.count(text) for text in texts]

    def of(self, message: Chat, /) -> int:
        """The tokens of a message, those around it included."""
        return len(self._begin) + len(self._tokens(_written(message))) + len(self._end)

    def total(self, messages: Iterable[Chat], /) -> int:
        """The tokens of several messages."""
        return sum(map(self.of, messages))

    def prompt(self, request: Iterable[Chat]) -> list[int]:
        """The tokens of a request, with the beginning of the answer."""
        tokens: list[int] = []
        for message in request:
            tokens += self._begin
            tokens += self._tokens(_written(message))
            tokens += self._end
        return tokens + self.turn

    def _tokens(self, text: str) -> list[int]:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self.model.tokenized(text) if text else []
        return known


def _written(message: Chat) -> str:
    called = (f"{item['function']['name']}({item['function']['arguments']})" for item in calls_of(message))
    lines = [content_of(message), *called]
    return f"{message.get('role', '')}\n" + "\n".join(filter(None, lines))
