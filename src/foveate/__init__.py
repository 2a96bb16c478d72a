"""Foveate: a context compiler for LLM agents."""
from foveate.errors import BudgetError
from foveate.session import Session
