"""Real agents of other packages with Foveate in their loop, each in an environment of its own."""
