"""Importers: logs that other programs recorded."""
