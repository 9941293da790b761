"""What maxmargin raises: one line that names the place, the value and the remedy."""


class MaxmarginError(ValueError):
    """Base of every error that maxmargin raises on purpose."""


class DataError(MaxmarginError):
    """The rows or labels cannot be trained on: where, what was found, what to do."""


class ParameterError(MaxmarginError):
    """A parameter is outside its range, or parameters contradict each other."""


class RefusedError(MaxmarginError):
    """A solver cannot solve this problem; the message names one that can."""


class FileError(MaxmarginError):
    """A file cannot be read or written, is cut short, or is of another kind."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; training goes on without it."""
