"""What a search over C, and γ of a kernel, returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from maxmargin.errors import FileError
from maxmargin.results import Result
from maxmargin.tuning.table import Candidate, as_json, best_of, candidate_of, chosen_of


class GridEnd(NamedTuple):
    """The best and the chosen `value` of a parameter are the same end of its grid: values beyond may be better."""

    name: str
    value: float
    grid: str
    way: str

    @property
    def what(self) -> str:
        """Where the best value is."""
        return f"The best {self.name}, {self.value:.4g}, is at the end of the grid"

    @property
    def remedy(self) -> str:
        """What to add to the grid."""
        return f"add {self.way} values to {self.grid}"


EQUAL_ADVICE = (
    "If it is the share of the largest class, every model predicts that class: take class_weight='balanced' and "
    "scoring='balanced_accuracy' (--class-weight balanced --scoring balanced_accuracy), or a kernel."
)


@dataclass(eq=False)
class Tuning:
    """A search over C, and γ of a kernel: its table, and the result of training with the chosen values on all rows.

    `kind` says how rows were assigned to folds, and `note` what differs from what was asked for. `ended` is empty for a
    search that has tried everything, else "time limit" or "interrupted".
    """

    candidates: list[Candidate] = field(repr=False)
    scoring: str
    rule: str
    folds: int
    kind: str
    note: str = ""
    ended: str = ""
    seconds: float = 0.0
    result: Result | None = field(default=None, repr=False)

    @property
    def best(self) -> Candidate | None:
        """The candidate with the highest mean score."""
        return best_of(self.candidates)

    @property
    def chosen(self) -> Candidate | None:
        """The candidate that the rule chooses; if none has run on all folds, the one with the most and best scores."""
        found = chosen_of(self.candidates, self.rule)
        if found is not None:
            return found
        some = [one for one in self.candidates if one.known]
        return min(some, key=lambda one: (-len(one.known), -one.mean, one.simplicity)) if some else None

    @property
    def model(self) -> Any:
        """The model that was trained on all rows with the chosen values."""
        return None if self.result is None else self.result.model

    @property
    def C(self) -> float:
        """The chosen C."""
        return float("nan") if self.chosen is None else self.chosen.C

    @property
    def gamma(self) -> float | None:
        """The chosen γ; None without one."""
        return None if self.chosen is None else self.chosen.gamma

    @property
    def advice(self) -> str:
        """What to do if the search ended early, or if the best value is at an end of the grid."""
        if self.ended:
            return f"The search ended early ({self.ended}): the choice is among what it had tried."
        if self.all_equal:
            return f"All candidates have the same accuracy. {EQUAL_ADVICE}"
        return " ".join(f"{end.what}: {end.remedy}." for end in self.ends)

    @property
    def all_equal(self) -> bool:
        """Whether several candidates all have the same accuracy, so that no end of the grid is better."""
        known = [one.mean for one in self.candidates if one.known]
        return self.scoring == "accuracy" and len(known) > 1 and len(set(known)) == 1

    @property
    def ends(self) -> list[GridEnd]:
        """Which of C and γ have their best and chosen value at the same end of the grid."""
        if self.all_equal:
            return []
        found = self.end_of("C", "Cs"), self.end_of("gamma", "gammas")
        return [end for end in found if end is not None]

    def end_of(self, name: str, grid: str) -> GridEnd | None:
        """Return the end of the grid at which the best and the chosen value are; None if there is none."""
        values = sorted({getattr(one, name) for one in self.candidates})
        value = getattr(self.best, name, None)
        if len(values) < 2 or value not in (values[0], values[-1]) or getattr(self.chosen, name) != value:
            return None
        return GridEnd(name, value, grid, "smaller" if value == values[0] else "larger")

    @property
    def progress(self) -> str:
        """How many fits are done, the seconds, and the best candidate so far."""
        done = sum(self.folds if one.dropped else len(one.known) for one in self.candidates)
        best = f", best {self.best.mean:.4f} {self.best.name}" if self.best is not None else ""
        return f"{done} of {self.folds * len(self.candidates)} fits, {self.seconds:.1f} s{best}"

    def saved(self) -> dict[str, Any]:
        """Return the table as JSON, which the model keeps."""
        chosen = self.chosen
        return {
            "scoring": self.scoring, "rule": self.rule, "folds": self.folds, "kind": self.kind, "ended": self.ended,
            "seconds": self.seconds, "chosen": None if chosen is None else [chosen.C, chosen.gamma],
            "table": [as_json(one) for one in self.candidates],
        }  # fmt: skip


def tuning_in(saved: Any) -> Tuning:
    """Return the search whose table a model keeps, without its result; raise if it is not one."""
    try:
        candidates = [candidate_of(row) for row in saved["table"]]
        if len({one.gamma is None for one in candidates}) > 1:
            raise ValueError("some candidates have a gamma, others none")
        kept = [str(saved[name]) for name in ("scoring", "rule")], int(saved["folds"]), str(saved["kind"])
        (scoring, rule), folds, kind = kept
        return Tuning(candidates, scoring, rule, folds, kind, "", str(saved["ended"]), float(saved["seconds"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FileError(f"the model's table of its tuning is damaged ({error!r}): train it again") from error
