"""A scripted provider on loopback: real agents run against it offline, and every request is kept as it came.

`serve(Script(steps))` answers Anthropic Messages, OpenAI chat and Responses, and Gemini, streamed or not. Rules may
refuse a request as the real provider would; by default nothing is checked.
"""

from bench.provider.script import Call, Refusal, Request, Script, Shell, Step, Tool
from bench.provider.server import Answer, Count, Received, Rule, ScriptedProvider, serve

__all__ = [
    "Answer",
    "Call",
    "Count",
    "Received",
    "Refusal",
    "Request",
    "Rule",
    "Script",
    "ScriptedProvider",
    "Shell",
    "Step",
    "Tool",
    "serve",
]
