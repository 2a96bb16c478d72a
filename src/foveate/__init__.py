"""Foveate: a context compiler for LLM agents.

Everything that happened is kept in an append-only log; every model call is a freshly computed, budgeted, explainable
projection of that log, and the projection changes in a way that keeps the provider's prompt cache warm.
"""

from foveate.budget.profiles import CacheRules, ModelProfile
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext
from foveate.compile.compilers import BudgetAwareCompiler, Compiler, PipelineCompiler, PragmaticCompiler
from foveate.compile.draft import Draft, PassContext, Shares
from foveate.compile.pass_protocol import reducing_pass, request_pass
from foveate.compile.passes import Boundary, ObservationMasking, Redact, Transparent
from foveate.compile.policy import PASSES, POLICIES, Policy
from foveate.compile.summaries import Summarizer, SummaryRequest
from foveate.errors import (
    BudgetError,
    ConfigError,
    ConflictError,
    EmptyRequestError,
    FoveateError,
    InvariantError,
    LogError,
    MessageError,
    StoreError,
    StoreVersionError,
    UnknownModelError,
    UnknownReferenceError,
)
from foveate.integrations.wrap import threads_of, wrap
from foveate.log.codec import load_events
from foveate.log.events import Event
from foveate.log.messages import Message
from foveate.log.router import DefaultRouter
from foveate.log.sections import ContextSection
from foveate.log.semantics import TOOLS, ToolSemantics
from foveate.log.state import AgentState
from foveate.recall.tool import RECALL_TOOL
from foveate.session import Session
from foveate.threads import Threads, thread

__all__ = [
    "PASSES",
    "POLICIES",
    "RECALL_TOOL",
    "TOOLS",
    "AgentState",
    "Boundary",
    "BudgetAwareCompiler",
    "BudgetError",
    "CacheRules",
    "CompiledContext",
    "Compiler",
    "ConfigError",
    "ConflictError",
    "ContextSection",
    "DefaultRouter",
    "Draft",
    "EmptyRequestError",
    "Event",
    "FoveateError",
    "InvariantError",
    "LogError",
    "Message",
    "MessageError",
    "ModelProfile",
    "ObservationMasking",
    "PassContext",
    "PipelineCompiler",
    "Policy",
    "PragmaticCompiler",
    "Redact",
    "Session",
    "Shares",
    "StoreError",
    "StoreVersionError",
    "Summarizer",
    "SummaryRequest",
    "Threads",
    "TokenBudget",
    "ToolSemantics",
    "Transparent",
    "UnknownModelError",
    "UnknownReferenceError",
    "load_events",
    "reducing_pass",
    "request_pass",
    "thread",
    "threads_of",
    "wrap",
]
