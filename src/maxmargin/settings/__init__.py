"""What a user may ask of a training: the values of its parameters, checked, and what has a meaning beside what."""
