"""Projections of the log."""
