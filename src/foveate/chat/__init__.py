"""Chat: one conversation for months, of which the model sees what a template keeps in view."""
