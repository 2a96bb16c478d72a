"""Other people's frameworks: one file each, the only file that imports it."""
