"""Templates that want all time or memory, or to reach out of their sandbox; for tests and for `make attack`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from foveate.chat.render_process import render_form
from foveate.chat.sandbox import FormError

VALUES: Final[dict[str, object]] = {
    "topic": "t",
    "ledger": "some words " * 50_000,
    "constraints": ["ab", "ba"] * 10_000,
    "recent_turns": [{"speaker": "user", "text": "x"}] * 20_000,
}
ESCAPES: Final = (
    "{{ ''.__class__.__mro__ }}",
    "{{ ''['__class__'] }}",
    "{{ topic.__class__.__base__.__subclasses__() }}",
    "{{ constraints | map(attribute='__class__') | list }}",
    "{{ constraints | sort(attribute='__class__') }}",
    "{{ constraints | map('attr', '__class__') | list }}",
    "{{ topic | attr('__class__') }}",
    "{{ range.__globals__ }}",
    "{{ missing.__init__.__globals__ }}",
    "{{ self.__init__ }}",
    "{{ self }}",
    "{{ range }}",
    "{{ cycler.__init__ }}",
    "{{ lipsum() }}",
    "{{ constraints.append('x') }}",
    "{{ '{0.__class__}'.format(topic) }}",
    "{% for a in constraints %}{{ loop._iterable }}{% endfor %}",
    "{% for a in constraints %}{{ loop.cycle }}{% endfor %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% extends 'x' %}",
)
_LOOP: Final = "{% for a in range(9999) %}{% for b in range(9999) %}"
_END: Final = "{% endfor %}{% endfor %}"
# Allowed word by word, and endless all the same: only the process around them ends them.
SLOW: Final = (
    _LOOP + _END,
    _LOOP + "{% if ledger[1:] == ledger[2:] %}{% endif %}" + _END,
    _LOOP + "{% if ledger | upper | title %}{% endif %}" + _END,
    _LOOP + "{% if constraints | map('upper') | sort | list %}{% endif %}" + _END,
    "{% set l = range(9999) | list %}{% for a in l %}{{ recent_turns | selectattr('text', 'in', l) | list }}{% endfor %}",
    "{% set l = range(9999) | list %}{% for a in l %}{{ constraints | select('in', l) | list }}{% endfor %}",
    "{% for a in range(9999) %}{{ constraints | reject('in', ledger) | list }}{% endfor %}",
    "{% for a in range(9999) %}{% if recent_turns | unique(attribute='speaker') | list %}{% endif %}{% endfor %}",
    "{% for a in range(9999) %}{% if ledger | wordcount %}{% endif %}{% endfor %}",
    "{% for a in range(9999) %}{% if ledger | truncate(9) | trim %}{% endif %}{% if ledger | title %}{% endif %}{% endfor %}",
    "{% set r = range(9999) | list %}{% for a in r %}{% for b in r %}{% for c in r %}{% endfor %}{% endfor %}{% endfor %}",
)
# They grow until memory is full, or until what they make is too long.
LARGE: Final = (
    _LOOP + "{{ a }}" + _END,
    "{{ ledger | join(ledger) }}",
    "{{ constraints | map('join', ledger) | list }}",
    "{{ recent_turns | map('indent', 16) | map('list') | map('join', ledger) | list }}",
    "{% set x = 'ab' %}" + "{% set x = x | join(x) %}" * 50 + "{{ x }}",
    "{{ ledger }}{{ ledger }}",
)
# Refused as soon as they are looked at.
REFUSED: Final = (
    "{{ range(999999999) }}",
    "{% for a in range(999999999) %}{% endfor %}",
    "{{ 10 ** 10 ** 10 }}",
    "{{ 'a' * 999999999 }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%999999999d' is odd }}",
    "{{ ['%999999999d'] | select('divisibleby', 3) | list }}",
    "{{ '{:>999999999}'.format(1) }}",
    "{{ topic | indent(999999999) }}",
    "{{ topic | center(999999999) }}",
    "{{ topic | batch(999999999, 'x') | list }}",
    "{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(40) }}",
    "{% for a in constraints recursive %}{{ loop(constraints) }}{% endfor %}",
    "{% set x = 'ab' %}" + "{% set x = x ~ x %}" * 50 + "{{ x }}",
    "{% set x = 'ab' %}" + "{% set x = x + x %}" * 50 + "{{ x }}",
    "{% set x = 'ab' %}" + "{% set x %}{{ x }}{{ x }}{% endset %}" * 50 + "{{ x }}",
    "{% set x = [1] %}" + "{% set x = [x, x] %}" * 50 + "{{ x }}",
    "{% for x in [topic] %}" * 30 + "{% endfor %}" * 30,
    "{{ topic }}" * 8000,
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ " + "not " * 5000 + "topic }}",
    "{{ topic" + " or topic" * 5000 + " }}",
    "{{ topic" + " | upper" * 5000 + " }}",
    "{% if topic %}" * 2000 + "{% endif %}" * 2000,
)
HOGS: Final = (*SLOW, *LARGE, *REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of hostile templates: how many were tried, and those that gave a text."""

    tried: int
    rendered: tuple[str, ...]


def attack_renderer(*, seconds: float = 0.5) -> Outcome:
    """Render every hostile template with a limit of some seconds; none of them may give a text."""
    rendered: list[str] = []
    for form in (*ESCAPES, *HOGS):
        try:
            render_form(form, VALUES, seconds=seconds)
        except FormError:
            continue
        rendered.append(form)
    return Outcome(tried=len(ESCAPES) + len(HOGS), rendered=tuple(rendered))
