"""The order of a model and a data file: the model comes first, but LIBSVM's and LIBLINEAR's programs have it second."""

from __future__ import annotations

from pathlib import Path


def model_first(model: Path, file: Path) -> tuple[Path, Path]:
    """Return the model and the data file, in the other order if only the second file is a model."""
    from maxmargin.cli import complain
    from maxmargin.cli.standard_input import saved_input
    from maxmargin.errors import DataError

    if not is_model(file):
        return model, file
    if is_model(model):
        raise DataError(f"{file}: is a model, as {model} is: name a file of data")

    complain(f"note: {file} is the model and {model} the data: the usual order is MODEL FILE")
    return file, saved_input(model)


def is_model(path: Path) -> bool:
    """Whether a file is a model or another file of maxmargin, or a text model of LIBSVM or LIBLINEAR."""
    from maxmargin.models.liblinear import is_liblinear_model
    from maxmargin.models.libsvm import is_libsvm_model
    from maxmargin.system.tensor_file import looks_like_tensors

    return looks_like_tensors(path) or is_libsvm_model(path) or is_liblinear_model(path)
