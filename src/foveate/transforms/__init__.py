"""Passes: each a pure function from draft to draft, one to a file."""

from foveate.transforms.cap import Cap
from foveate.transforms.compose import Compose, Forget, Present, WhenFull
from foveate.transforms.distil import Distil
from foveate.transforms.drop import Drop
from foveate.transforms.errors import ShowErrors
from foveate.transforms.fold import Fold
from foveate.transforms.isolate import Boundary, Isolation, ObservationMasking, Transparent
from foveate.transforms.mask import Mask
from foveate.transforms.pins import RestorePins
from foveate.transforms.redact import Redact
from foveate.transforms.repair import Repair
from foveate.transforms.summarise import Summarise
from foveate.transforms.supersede import Supersede
from foveate.transforms.trim_calls import TrimCalls
from foveate.transforms.truncate import Truncate

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
