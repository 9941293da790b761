"""The exceptions of maxmargin. Each message is one line that names the place, the value and the remedy."""


class MaxmarginError(ValueError):
    """Base class of all errors that maxmargin raises deliberately."""


class DataError(MaxmarginError):
    """Invalid rows or labels. The message says where, what was found and what to do."""


class StoppedWhileReadingError(DataError):
    """Training was stopped before all rows were read once."""

    def __init__(self, message: str, interrupted: bool) -> None:
        super().__init__(message)
        self.interrupted = interrupted


class ParameterError(MaxmarginError):
    """A parameter is out of range, or parameters contradict each other."""


class RefusedError(MaxmarginError):
    """A solver cannot solve this problem; the message names one that can."""


class FileError(MaxmarginError):
    """A file cannot be read or written, is truncated, or is of another kind."""


class ClusterError(MaxmarginError):
    """A cluster cannot be reached, is not fit for training, or was lost."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; training continues without it."""
