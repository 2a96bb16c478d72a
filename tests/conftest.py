"""All tests: property tests try the same examples in every run.

Random ones are for `make fuzz`: `pytest --hypothesis-profile random`.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis.internal.conjecture import providers

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile("fixed")

# Else examples are made of constants in whatever modules happen to be loaded, and depend on which tests ran before.
providers.is_local_module_file = lambda _path: False
