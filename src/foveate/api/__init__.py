"""The HTTP API: sessions, messages, calls and their explanations, for programs and for the web pages."""

from foveate.api.app import create_app
from foveate.api.place import Place

__all__ = ["Place", "create_app"]
