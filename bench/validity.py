"""Whether a provider would accept a request: rules of the OpenAI chat format."""

from foveate.wire.openai_rules import problems

__all__ = ["problems"]
