"""Attacks on what Foveate promises, in the sizes of a test suite or of a night: `python -m tests.attack --help`."""
