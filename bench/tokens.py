"""The benchmark's own token counter (o200k), independent of the product's."""

from collections.abc import Iterable
from functools import cache

from splintr import AnyTokenizer, Tokenizer

from bench.messages import Message, calls_of, content_of

MESSAGE_OVERHEAD = 4


@cache
def count(text: str) -> int:
    return len(_tokenizer().encode(text)) if text else 0


def message_tokens(message: Message) -> int:
    called = (item["function"] for item in calls_of(message))
    return (
        MESSAGE_OVERHEAD
        + count(content_of(message))
        + sum(count(function["name"]) + count(function["arguments"]) for function in called)
    )


def request_tokens(messages: Iterable[Message]) -> int:
    return sum(message_tokens(message) for message in messages)


@cache
def _tokenizer() -> AnyTokenizer:
    return Tokenizer.from_pretrained("o200k_base")
