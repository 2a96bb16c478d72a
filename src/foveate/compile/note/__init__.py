"""The note: what a careful colleague would leave of older messages: the story by turn, then the work as it stands."""
