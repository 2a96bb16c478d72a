"""Replays recorded agent sessions to measure what a context policy keeps, and what it costs."""
