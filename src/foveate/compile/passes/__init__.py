"""Passes: each a pure function from draft to draft, one to a file."""

from foveate.compile.passes.cap import Cap
from foveate.compile.passes.compose import Compose, Forget, Present, WhenFull
from foveate.compile.passes.distil import Distil
from foveate.compile.passes.drop import Drop
from foveate.compile.passes.errors import ShowErrors
from foveate.compile.passes.fold import Fold
from foveate.compile.passes.isolate import Boundary, Isolation, ObservationMasking, Transparent
from foveate.compile.passes.mask import Mask
from foveate.compile.passes.pins import RestorePins
from foveate.compile.passes.redact import Redact
from foveate.compile.passes.repair import Repair
from foveate.compile.passes.summarise import PlaceSummary, Summarise
from foveate.compile.passes.supersede import Supersede
from foveate.compile.passes.trim_calls import TrimCalls
from foveate.compile.passes.truncate import Truncate

__all__ = [
    "Boundary",
    "Cap",
    "Compose",
    "Distil",
    "Drop",
    "Fold",
    "Forget",
    "Isolation",
    "Mask",
    "ObservationMasking",
    "PlaceSummary",
    "Present",
    "Redact",
    "Repair",
    "RestorePins",
    "ShowErrors",
    "Summarise",
    "Supersede",
    "Transparent",
    "TrimCalls",
    "Truncate",
    "WhenFull",
]
