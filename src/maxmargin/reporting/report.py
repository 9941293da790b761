"""`report`, the main function: takes a model and rows, returns a page about both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.racing.race import Race
from maxmargin.reporting.content import Figure, Section, Text
from maxmargin.reporting.drawing import Picture, converter, png
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.planes import chosen_plane
from maxmargin.reporting.intake import gathered
from maxmargin.reporting.page.page import is_web_page, page
from maxmargin.reporting.sections.classification import classification_sections
from maxmargin.reporting.sections.convergence import convergence_section
from maxmargin.reporting.sections.explanations import explanation_section
from maxmargin.reporting.sections.findings import findings_section
from maxmargin.reporting.sections.novelty import novelty_sections
from maxmargin.reporting.sections.planes import has_plane, plane_section
from maxmargin.reporting.sections.provenance import provenance_section
from maxmargin.reporting.sections.race import race_sections, race_verdict
from maxmargin.reporting.sections.regression import regression_sections
from maxmargin.reporting.sections.tuning import tuning_section
from maxmargin.reporting.sections.verdict import certificate_section, verdict
from maxmargin.reporting.sections.weights import weights_section
from maxmargin.reporting.subject import Subject, subject_of
from maxmargin.system.atomic_files import check_writable, replacing
from maxmargin.system.memory_errors import memory_errors
from maxmargin.system.overwriting import check_replaces, is_picture
from maxmargin.tuning.tuning import tuning_in

SECTIONS = {
    "classify": classification_sections,
    "regress": regression_sections,
    "novelty": novelty_sections,
}


@dataclass(frozen=True, eq=False)
class Report:
    """A report: a title, a verdict, and sections with text, tables and pictures."""

    title: str
    verdict: Text
    sections: Sequence[Section] = field(repr=False)

    @property
    def figures(self) -> list[Figure]:
        """All pictures."""
        return [part for section in self.sections for part in section.parts if isinstance(part, Figure)]

    def html(self) -> str:
        """Return the page: one HTML file that needs nothing else."""
        return page(self.title, self.verdict, self.sections)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the page atomically. Only an HTML file is replaced, unless `force` is true."""
        check_page(path, force)
        content = self.html().encode()
        with replacing(path) as stream:
            stream.write(content)

    def save_pictures(self, folder: str | Path, force: bool = False) -> list[Path]:
        """Write each picture as a PNG file into a folder, which is made if it is missing; return the files."""
        check_folder(folder)
        paths = [Path(folder) / f"{figure.name}.png" for figure in self.figures]
        for path in paths:
            check_replaces(path, "a picture", is_picture, force)
        for path, figure in zip(paths, self.figures, strict=True):
            with replacing(path) as stream:
                stream.write(png(figure.spec, figure.title))
        return paths

    def picture(self, name: str | None = None) -> Picture:
        """Return a picture, which notebooks show: by its name, else the gap or the first one."""
        known = {figure.name: figure for figure in self.figures}
        wanted = next((one for one in ("gap-seconds", *known) if one in known), None) if name is None else name
        if wanted not in known:
            have = f"the report has {', '.join(known)}" if known else "the report has no pictures without rows"
            raise ParameterError(f"picture {name!r} is not there: {have}; give rows X and labels y for more")
        return Picture(known[wanted])

    def _repr_html_(self) -> str:
        """Return the verdict and where the rest is, for notebooks."""
        from html import escape

        return f"<p><strong>{escape(self.title)}</strong><br>{escape(self.verdict.words)}</p>"


@memory_errors()
def report(
    model: Any,
    X: Any = None,
    y: Any = None,
    path: str | Path | None = None,
    *,
    projection: Sequence[str] | None = None,
    label: str | None = None,
    zero_based: bool = False,
    threads: int | None = None,
    command: str = "",
    force: bool = False,
) -> Report:
    """Report on a model: its certificate, its training and, on some rows, its errors.

    Parameters
    ----------
    model : a `Result` of `train`, a model, the file of one, a fitted estimator, or a `Race`, which needs no rows
    X, y : rows and their labels, as for `train`: arrays, a data frame, or a file. Rows that were not used in training
        tell how good the model is. Without rows, the report is about the training only
    path : where to write the page, an HTML file that needs no network; None to write nothing
    projection : the names of two columns of numbers: the axes of the picture of the boundary
    label, zero_based, threads : as for `train`
    command : what to call the command that made the report, if there was one
    force : whether to replace a file that is no HTML page

    Returns
    -------
    Report
        with `title`, `verdict`, `sections`, `figures`, `html()`, `save(path)` and `save_pictures(folder)`.

    Examples
    --------
    >>> import maxmargin
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], ["no", "no", "yes", "yes"]
    >>> made = maxmargin.report(maxmargin.train(X, y), X, y)
    >>> [section.name for section in made.sections][:3]
    ['findings', 'certificate', 'errors']
    >>> made.save("report.html")  # doctest: +SKIP
    """
    converter()
    if path is not None:
        check_page(path, force)
    if isinstance(model, Race):
        made = Report("Report on a race of solvers", race_verdict(model), race_sections(model, command))
    else:
        made = report_on(subject_of(model), X, y, projection, label, zero_based, threads, command)
    if path is not None:
        made.save(path, force)
    return made


def report_on(
    subject: Subject, X: Any, y: Any, projection: Sequence[str] | None, label: str | None, zero_based: bool,
    threads: int | None, command: str,
) -> Report:  # fmt: skip
    """Return the report on a model."""
    if X is None and y is not None:
        raise ParameterError("y has labels, and X no rows for them: give both, or none")
    if projection is not None:
        check_projection(subject, projection, X)
    evidence = None if X is None else gathered(subject, X, y, threads, label, zero_based)
    found = sections(subject, evidence, projection, command)
    return Report(f"Report on {subject.name}", verdict(subject, evidence), found)


def sections(
    subject: Subject, evidence: Evidence | None, projection: Sequence[str] | None, command: str
) -> list[Section]:
    """Return the sections that the model and the rows have something to say for."""
    tuned = tuning_in(subject.training["tuning"]) if "tuning" in subject.training else None
    found: list[Section | None] = [findings_section(subject, evidence, tuned), certificate_section(subject)]
    if evidence is not None:
        found += SECTIONS[subject.task](subject, evidence)
    found.append(weights_section(subject, evidence))
    if evidence is not None:
        found += [plane_section(subject, evidence, projection), explanation_section(subject, evidence)]
    found += [tuning_section(tuned) if tuned else None, convergence_section(subject)]
    found.append(provenance_section(subject, command))
    return [one for one in found if one is not None]


def check_projection(subject: Subject, projection: Sequence[str], X: Any) -> None:
    """Raise, before all rows are read, if there will be no picture with these axes."""
    if X is None:
        raise ParameterError("projection needs rows to draw: give X")
    if not has_plane(subject):
        raise ParameterError("projection: this model has no picture of its boundary: leave it out")
    chosen_plane(subject, np.zeros(subject.d), projection)


def check_page(path: str | Path, force: bool = False) -> None:
    """Raise if a page cannot be drawn or written to `path`, or would replace another kind of file."""
    converter()
    check_writable(path)
    check_replaces(path, "an HTML page", is_web_page, force)


def check_folder(folder: str | Path) -> None:
    """Make a folder for pictures, if it is missing; raise if that is impossible."""
    from maxmargin.errors import FileError

    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot make this folder: {error.strerror or error}") from error
