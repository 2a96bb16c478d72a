"""Frozen data: messages, events, context, state."""
