"""OpenAI chat messages, the common form of all recorded sessions."""

from foveate.lab.chat import Chat, argument_values, call, calls_of, content_of, texts

Message = Chat
Call = Chat

__all__ = ["Call", "Message", "argument_values", "call", "calls_of", "content_of", "texts"]
