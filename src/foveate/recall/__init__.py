"""Search: finds what left the context, and gives it back."""

from foveate.recall.excerpt import excerpt
from foveate.recall.index import Hit, PassageIndex
from foveate.recall.passages import Passage, passages_of
from foveate.recall.ranking import recalled
from foveate.recall.tool import RECALL_TOOL

__all__ = ["RECALL_TOOL", "Hit", "Passage", "PassageIndex", "excerpt", "passages_of", "recalled"]
