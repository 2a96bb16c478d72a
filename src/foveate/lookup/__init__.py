"""Lookup: agents ask what their logs hold, and get short answers with references to go deeper."""
