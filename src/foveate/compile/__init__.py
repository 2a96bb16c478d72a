"""The compile: from the log to the request that a model sees. Projection, draft, passes, rules, and the view."""
