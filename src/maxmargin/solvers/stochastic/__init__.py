"""Methods that take one example, or a few, at a time."""
