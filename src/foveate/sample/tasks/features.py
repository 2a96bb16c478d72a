"""Names and numbers of invented features, as many as a long session needs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from string import Template

_NOUNS = (
    ("gift card", "GFT"),
    ("deposit", "DEP"),
    ("voucher", "VCH"),
    ("credit note", "CRN"),
    ("prepayment", "PRE"),
    ("allowance", "ALW"),
    ("rebate", "RBT"),
    ("coupon", "CPN"),
    ("advance", "ADV"),
    ("retainer", "RET"),
    ("escrow", "ESC"),
    ("fuel card", "FUL"),
    ("store credit", "STC"),
    ("goodwill credit", "GWC"),
    ("travel credit", "TRC"),
    ("training grant", "TRG"),
    ("repair budget", "RPB"),
    ("sample credit", "SMP"),
)
_ADJECTIVES = ("", "partner ", "wholesale ", "seasonal ", "export ", "staff ", "charter ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One thing the shop learns to do, with the numbers its texts need."""

    words: str
    code: str
    ticket: int
    limit: int
    days: int
    account: str

    @property
    def module(self) -> str:
        return f"{self.var}s"

    @property
    def var(self) -> str:
        return self.words.replace(" ", "_")

    @property
    def path(self) -> str:
        return f"harbor/{self.module}.py"

    @property
    def notes(self) -> str:
        return f"docs/{self.module}.md"

    @property
    def suite(self) -> str:
        return f"tests/test_{self.module}.py"

    def fill(self, text: str) -> str:
        """Put this feature's names into a text."""
        return Template(text).substitute(
            words=self.words,
            Plural=self.words.capitalize() + "s",
            Class=self.words.title().replace(" ", ""),
            kind=self.var,
            var=self.var,
            module=self.module,
            code=self.code,
            ticket=str(self.ticket),
            limit=f"{self.limit:_}",
            amount=f"{self.limit:,}",
            days=str(self.days),
            account=self.account,
        )

    def pair(self, texts: tuple[str, str]) -> tuple[str, str]:
        """The old and new text of an edit, filled in."""
        old, new = texts
        return self.fill(old), self.fill(new)


def feature(number: int) -> Feature:
    """The `number`-th feature, from 0; the same number always gives the same feature."""
    # Its own generator: the task that builds a feature and those that change it must agree on it.
    rng = random.Random(number)
    lap, noun = divmod(number, len(_NOUNS))
    words, code = _NOUNS[noun]
    edition, adjective = divmod(lap, len(_ADJECTIVES))
    suffix = f" {edition + 1}" if edition else ""
    letter = _ADJECTIVES[adjective][:1].upper()
    return Feature(
        words=f"{_ADJECTIVES[adjective]}{words}{suffix}",
        code=f"{letter}{code}{edition + 1 if edition else ''}",
        ticket=440 + 3 * number,
        limit=1_000 * rng.randint(10, 90),
        days=rng.choice((30, 90, 180, 365)),
        account=f"87{rng.randint(30, 89)}-{rng.randint(10, 99)}",
    )
