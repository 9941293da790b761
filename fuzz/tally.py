"""What a campaign has counted and found."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

KEPT = 20  # findings of one kind that are listed; all are counted


@dataclass(frozen=True)
class Finding:
    """Something that must not happen: which kind, at which seed, how bad, and what was seen."""

    kind: str
    seed: str
    text: str = ""
    severity: float = 0.0

    def __str__(self) -> str:
        size = f" ({self.severity:.1e})" if self.severity else ""
        return f"{self.kind}{size} at {self.seed}: {self.text}"


@dataclass
class Tally:
    """Counts of what was done, and the worst findings of each kind."""

    counts: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    seconds: float = 0.0

    def count(self, what: str, times: int = 1) -> None:
        """Something was done."""
        self.counts[what] += times

    def report(self, finding: Finding) -> None:
        """Something was found."""
        self.found[finding.kind] += 1
        self.keep(finding)

    def keep(self, finding: Finding) -> None:
        """List it, if it is among the worst of its kind."""
        kept = self.findings.setdefault(finding.kind, [])
        kept.append(finding)
        kept.sort(key=lambda one: -one.severity)
        del kept[KEPT:]

    def add(self, other: Tally) -> None:
        """Take in what another has counted and found."""
        self.counts += other.counts
        self.found += other.found
        for some in other.findings.values():
            for finding in some:
                self.keep(finding)


def place_of(error: BaseException) -> str:
    """The exception and the innermost line of maxmargin that it passed through, by which equal ones are told."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "maxmargin" in Path(frame.filename).parts]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "outside"
    return f"{type(error).__name__} in {where}"
