"""Which images, files and sounds each provider takes."""

from __future__ import annotations

import pytest

from foveate.log.messages import Media
from foveate.wire.attachments import Provider, fetched


@pytest.mark.parametrize(
    "address",
    [
        "https://www.youtube.com/watch?v=x",
        "https://youtu.be/x",
        "https://generativelanguage.googleapis.com/v1beta/files/x",
    ],
)
@pytest.mark.parametrize("kind", ["image", "file"])
def test_addresses_that_gemini_alone_reads_go_to_no_other(address: str, kind: str) -> None:
    """Others would fetch a page instead, or be refused."""
    media = Media(kind="image" if kind == "image" else "file", reference=address)
    others: tuple[Provider, ...] = ("openai", "openai-responses", "anthropic")

    assert fetched("gemini", media) == address
    assert [fetched(provider, media) for provider in others] == [None] * 3


def test_other_addresses_are_fetched() -> None:
    media = Media(kind="image", reference="https://x.org/a.png")
    providers: tuple[Provider, ...] = ("openai", "openai-responses", "anthropic", "gemini")

    assert [fetched(provider, media) for provider in providers] == [media.reference] * 4
