"""The compile: from a state to the request a model sees."""
