"""The lab: recorded sessions replayed under several policies, side by side."""
