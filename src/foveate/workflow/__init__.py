"""The workflow: a plan carried out by agents, task by task."""
