"""`train -v K`: score the parameters by cross-validation, and save no model."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Any

from maxmargin.cli.options import values_of
from maxmargin.settings.parameters import PARAMETERS

WITHOUT_EFFECT = ("lam", "checkpoint", "resume", "force", "client", "timeout")  # as long as they are not given


def cross_validated(file: Path, labels: Path | None, folds: int, json: bool, given: dict[str, Any]) -> None:
    """Print the score of each fold, their mean and its standard error."""
    import maxmargin
    from maxmargin.cli.summary import finite
    from maxmargin.cli.tuning_table import fold_line
    from maxmargin.tuning.table import as_json

    for name in WITHOUT_EFFECT:
        if given.get(name) == PARAMETERS[name].default:
            given.pop(name, None)
    found = maxmargin.cross_validate(file, labels, folds=folds, **values_of(given))
    scoring = "r2" if given["task"] == "regress" else "accuracy"
    if json:
        print(jsonlib.dumps(finite({"scoring": scoring, **as_json(found)})))
    else:
        print(fold_line(found, scoring))
