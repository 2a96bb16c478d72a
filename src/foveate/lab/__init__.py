"""The policy lab: recorded sessions replayed under several policies, and what each would have cost and kept."""
