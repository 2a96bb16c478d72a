"""Agents: each with the strategy that decides what it sees."""

from foveate.agents.agent import Agent, AgentError, Means
from foveate.agents.architect import Architect, ArchitectContextStrategy
from foveate.agents.desk import Desk
from foveate.agents.developer import Developer, DeveloperContextStrategy, Work
from foveate.agents.driver import Driver, DriverError, Reply, Schema
from foveate.agents.reviewer import PERSONAS, Reviewer, ReviewerContextStrategy, Verdict
from foveate.agents.strategy import ContextStrategy
from foveate.agents.toolset import Answer, Toolset

__all__ = [
    "PERSONAS",
    "Agent",
    "AgentError",
    "Answer",
    "Architect",
    "ArchitectContextStrategy",
    "ContextStrategy",
    "Desk",
    "Developer",
    "DeveloperContextStrategy",
    "Driver",
    "DriverError",
    "Means",
    "Reply",
    "Reviewer",
    "ReviewerContextStrategy",
    "Schema",
    "Toolset",
    "Verdict",
    "Work",
]
