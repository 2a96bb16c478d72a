"""Numbers only: tokens, windows, prices."""

from foveate.budget.calibrate import Calibration
from foveate.budget.economics import Marks, break_even_calls, call_cost, marks
from foveate.budget.estimate import EstimatingCounter
from foveate.budget.profiles import DEFAULT_RULES, CacheRules, ModelProfile, profile_for
from foveate.budget.tokens import SplintrCounter, TokenCounter, counter_for, image_tokens
from foveate.budget.window import TokenBudget

__all__ = [
    "DEFAULT_RULES",
    "CacheRules",
    "Calibration",
    "EstimatingCounter",
    "Marks",
    "ModelProfile",
    "SplintrCounter",
    "TokenBudget",
    "TokenCounter",
    "break_even_calls",
    "call_cost",
    "counter_for",
    "image_tokens",
    "marks",
    "profile_for",
]
