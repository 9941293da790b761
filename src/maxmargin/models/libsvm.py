"""Models in LIBSVM's own text format, which svm-predict and other programs read.

svm_type c_svc                    or nu_svc, one_class, epsilon_svr, nu_svr
kernel_type rbf                   linear, polynomial, rbf, sigmoid or precomputed; then its degree, gamma, coef0
nr_class 3, total_sv 40
rho 0.1 0.2 0.3                   −b of each pair, or of the function
label 1 2 3                       whole numbers, in the order of the pairs
probA -1 -2 -3, probB 0 0 0       A and B of each pair, if the model has probabilities
nr_sv 10 20 10                    number of support vectors of each class
SV                                then a line for each: its coefficients, then index:value, indices from 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Dense
from maxmargin.errors import FileError, ParameterError
from maxmargin.kernels.functions import KERNELS, LIBSVM_NAMES, MOST_DEGREE, Kernel, Precomputed
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_function import KernelFunction
from maxmargin.models.scaling import check_unscaled
from maxmargin.problems.certificate import Certificate
from maxmargin.system.atomic_files import beginning, replacing
from maxmargin.system.overwriting import check_replaces

TYPES = {"C-SVC": "c_svc", "nu-SVC": "nu_svc"}
FUNCTIONS = {"one-class": "one_class", "epsilon-SVR": "epsilon_svr", "nu-SVR": "nu_svr"}
FORMULATIONS = {name: formulation for formulation, name in (TYPES | FUNCTIONS).items()}
FIRST = b"svm_type"
LONGEST_REASON = 120  # most characters of an error message that are shown
LARGEST_INDEX = 2**31 - 1  # as in LIBSVM, whose indices are int


def is_libsvm_model(path: str | Path) -> bool:
    """Whether a file begins like a LIBSVM model."""
    return beginning(path, len(FIRST)) == FIRST


def write_libsvm_model(model: KernelModel | KernelFunction, path: str | Path, force: bool = False) -> None:
    """Write a kernel model for LIBSVM, atomically. Only a LIBSVM model is replaced, unless `force` is true."""
    check_replaces(path, "a LIBSVM model", is_libsvm_model, force)
    if not isinstance(model, (KernelModel, KernelFunction)):
        raise ParameterError(
            f"LIBSVM's files hold kernel models only, not type {type(model).__name__}: save as safetensors"
        )
    check_unscaled(model.training, "LIBSVM")
    if isinstance(model, KernelModel) and "tie_order" in model.training:
        model = reordered(model, model.tie_order)
    head = class_lines(model) if isinstance(model, KernelModel) else function_lines(model)
    text = "\n".join([*head, "SV", *(" ".join(line) for line in vector_lines(model)), ""])
    with replacing(path) as stream:
        stream.write(text.encode())


def class_lines(model: KernelModel) -> list[str]:
    """Return all lines before the support vectors of a classifier."""
    labels = whole_labels(model.classes, "LIBSVM")
    sigmoids = [] if model.sigmoids is None else zip(("probA", "probB"), model.sigmoids.T.tolist(), strict=True)
    return [
        *first_lines(TYPES.get(model.training.get("formulation", ""), "c_svc"), model.kernel),
        f"nr_class {len(labels)}",
        f"total_sv {len(model.support)}",
        " ".join(["rho", *(repr(-b + 0.0) for b in model.intercept.tolist())]),
        " ".join(["label", *map(str, labels)]),
        *(" ".join([name, *map(repr, values)]) for name, values in sigmoids),
        " ".join(["nr_sv", *map(str, model.n_support.tolist())]),
    ]


def whole_labels(classes: np.ndarray, program: str) -> list[int]:
    """Return labels as the whole numbers that LIBSVM and LIBLINEAR keep; raise if they are not."""
    whole = classes.dtype.kind in "iuf" and np.array_equal(classes, np.round(classes.astype(float)))
    if not whole or max(map(abs, classes.tolist())) > LARGEST_INDEX:
        raise ParameterError(
            f"{program} has only whole numbers as labels, up to 2**31 - 1: save as safetensors, or number the classes"
        )
    return [int(label) for label in classes]


def function_lines(model: KernelFunction) -> list[str]:
    """Return all lines before the support vectors of a regression or one-class model."""
    first = first_lines(FUNCTIONS[model.formulation], model.kernel)
    return [*first, "nr_class 2", f"total_sv {len(model.support)}", f"rho {float(-model.intercept) + 0.0!r}"]


def first_lines(kind: str, kernel: Kernel) -> list[str]:
    """Return the lines that name the SVM type and the kernel."""
    if kernel.name not in LIBSVM_NAMES:
        raise ParameterError(f"LIBSVM knows no kernel {kernel.name!r}: save as safetensors")
    names = ("degree", "gamma", "coef0")
    return [
        f"svm_type {kind}",
        f"kernel_type {LIBSVM_NAMES[kernel.name]}",
        *(f"{name} {getattr(kernel, name)!r}" for name in names if hasattr(kernel, name)),
    ]


def vector_lines(model: KernelModel | KernelFunction) -> list[list[str]]:
    """Return a line for each support vector, as words; with a precomputed kernel it has the row number, from 1."""
    coefficients = np.atleast_2d(model.dual_coef if isinstance(model, KernelModel) else model.coefficients)
    lines = [[repr(value) for value in column] for column in coefficients.T.tolist()]
    if isinstance(model.kernel, Precomputed):
        return [[*line, f"0:{place + 1}"] for line, place in zip(lines, model.support.tolist(), strict=True)]
    return [[*line, *pairs_of(model.vectors, i)] for i, line in enumerate(lines)]


def pairs_of(rows: Any, i: int) -> list[str]:
    """Return index:value of each stored value of row i, or of each nonzero value if the rows are dense."""
    if isinstance(rows, Dense):
        columns = np.flatnonzero(rows.values[i])
        values = rows.values[i, columns]
    else:
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        columns, values = rows.indices[part], rows.values[part]
    return [f"{column + 1}:{float(value)!r}" for column, value in zip(columns.tolist(), values.tolist(), strict=True)]


def read_libsvm_model(path: str | Path) -> KernelModel | KernelFunction:
    """Read a model written by LIBSVM. Its certificate is infinite: nothing is known about its optimality."""
    try:
        lines = Path(path).read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot read as a LIBSVM model ({error})") from error
    start = next((k for k, line in enumerate(lines) if line.strip() == "SV"), None)
    if start is None:
        raise FileError(f"{path}: is no LIBSVM model: there is no line SV")
    facts = {metadata[0]: metadata[1:] for line in lines[:start] if (metadata := line.split())}
    try:
        return assembled(path, facts, [line.split() for line in lines[start + 1 :] if line.strip()])
    except FileError:
        raise
    except (KeyError, IndexError, ValueError, OverflowError, MemoryError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else short(error)
        raise FileError(f"{path}: is no whole LIBSVM model ({what}): write it again") from error


def short(error: BaseException) -> str:
    """Format an error for a message, shortened: the file may contain anything."""
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."


def assembled(path: str | Path, facts: dict[str, list[str]], lines: list[list[str]]) -> KernelModel | KernelFunction:
    """Build a model from the header `facts` and the lines of the support vectors."""
    kind = facts["svm_type"][0]
    if kind not in FORMULATIONS:
        raise FileError(f"{path}: svm_type {kind} is not known")
    kernel = kernel_of_facts(path, facts)
    of_function = kind in FUNCTIONS.values()
    count = 1 if of_function else len(facts["label"]) - 1
    classes = int(facts["nr_class"][0]) if "nr_class" in facts else count + 1
    if not of_function and (classes != count + 1 or count < 1):
        raise FileError(f"{path}: nr_class is {classes}, but label names {count + 1}: at least two must be the same")
    said = int(facts["total_sv"][0]) if "total_sv" in facts else len(lines)
    if said != len(lines):
        raise FileError(f"{path}: total_sv is {said}, but {len(lines)} lines follow SV: the model is not whole")
    rows, support = vectors_of_lines([line[count:] for line in lines], kernel)
    coefficients = np.array([[float(word) for word in line[:count]] for line in lines]).reshape(len(lines), count).T
    if not np.all(np.isfinite(coefficients)):
        raise ValueError("coefficients that are no finite numbers")
    training = {"formulation": FORMULATIONS[kind], "d": rows.d, "widens": True, "n": 0, "nnz": len(rows.values)}
    if of_function:
        b, nothing = -float(finite(facts["rho"], "rho")[0]), Certificate(np.inf, -np.inf)
        return KernelFunction(rows, support, coefficients[0], b, 0.0, kernel, nothing, training)
    return classifier(path, facts, rows, support, coefficients, kernel, training)


def classifier(
    path: str | Path,
    facts: dict[str, list[str]],
    rows: Csr,
    support: np.ndarray,
    coefficients: np.ndarray,
    kernel: Kernel,
    training: dict[str, Any],
) -> KernelModel:
    """Build a classifier, with sorted classes."""
    labels = np.array([int(word) for word in facts["label"]], dtype=np.int64)
    k, counts = len(labels), np.array([int(word) for word in facts["nr_sv"]], dtype=np.int64)
    rho, total = finite(facts["rho"], "rho"), len(support)
    if counts.size and (counts.min() < 0 or counts.max() > total):
        raise FileError(f"{path}: nr_sv names {counts.min()} or {counts.max()} of {total} support vectors")
    if len(counts) != k or counts.sum() != total or len(rho) != k * (k - 1) // 2 or len(set(labels.tolist())) != k:
        raise FileError(f"{path}: the numbers of classes and support vectors do not fit together")
    order = np.argsort(labels)
    if np.any(np.diff(order) < 0):
        training["tie_order"] = np.argsort(order).tolist()
    model = KernelModel(
        labels, rows, support, counts, coefficients, -rho, kernel, Certificate(np.inf, -np.inf), training,
        sigmoids_of(facts, len(rho)),
    )  # fmt: skip
    return reordered(model, order)


def reordered(model: KernelModel, order: np.ndarray) -> KernelModel:
    """Return the same classifier with its classes in another order."""
    counts = model.n_support
    chosen = np.concatenate([np.arange(model.spans[c].start, model.spans[c].stop) for c in order])
    dual_coef, b = in_order(model.dual_coef, model.b, np.repeat(np.arange(len(counts)), counts), order)
    return replace(
        model,
        classes=model.classes[order],
        vectors=pick(model.vectors, chosen),
        support=model.support[chosen],
        n_support=counts[order],
        dual_coef=dual_coef[:, chosen],
        b=b,
        sigmoids=None if model.sigmoids is None else sigmoids_in_order(model.sigmoids, order),
    )


def sigmoids_of(facts: dict[str, list[str]], pairs: int) -> np.ndarray | None:
    """Return A and B of the pairs, None if the file has no probabilities."""
    if "probA" not in facts or "probB" not in facts:
        return None
    found = np.array([finite(facts[name], name) for name in ("probA", "probB")]).T
    if len(found) != pairs:
        raise ValueError("probA and probB of each pair")
    return found


def sigmoids_in_order(found: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return A and B of the pairs for the classes in another order. A swapped pair changes the sign of its B."""
    turned = np.empty_like(found)
    for place, (_, old, sign) in enumerate(pairs_in_order(order)):
        turned[place] = found[old] * (1.0, sign)
    return turned


def in_order(
    coefficients: np.ndarray, b: np.ndarray, owner: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients and b for the classes in another order. A swapped pair changes its signs."""
    turned, offsets = np.empty_like(coefficients), np.empty_like(b)
    for place, ((i, j), pair, sign) in enumerate(pairs_in_order(order)):
        offsets[place] = sign * b[pair]
        for new, other_new in ((i, j), (j, i)):
            old, other_old = int(order[new]), int(order[other_new])
            own = owner == old
            row_old, row_new = other_old - (other_old > old), other_new - (other_new > new)
            turned[row_new, own] = sign * coefficients[row_old, own]
    return turned, offsets


def pairs_in_order(order: np.ndarray) -> Iterator[tuple[tuple[int, int], int, float]]:
    """Yield each pair of classes in the new order with its old position, and −1 if it is swapped, else 1."""
    places = {pair: place for place, pair in enumerate(combinations(range(len(order)), 2))}
    for i, j in places:
        first, second = int(order[i]), int(order[j])
        yield (i, j), places[min(first, second), max(first, second)], 1.0 if first < second else -1.0


def kernel_of_facts(path: str | Path, facts: dict[str, list[str]]) -> Kernel:
    """Return the kernel that the header names."""
    name = facts["kernel_type"][0]
    degree, gamma, coef0 = (
        float(finite(facts.get(fact, [usual])[:1], fact)[0])
        for fact, usual in (("degree", "3"), ("gamma", "0"), ("coef0", "0"))
    )
    if not (degree == int(degree) and 1 <= degree <= MOST_DEGREE) or gamma < 0.0:
        raise FileError(
            f"{path}: degree {degree:g}, gamma {gamma:g}: the degree is a whole number from 1 to {MOST_DEGREE:,}, "
            "gamma 0 or above"
        )
    kinds = {theirs: KERNELS[ours] for ours, theirs in LIBSVM_NAMES.items()}
    if name not in kinds:
        raise FileError(f"{path}: kernel_type {name} is not known")
    values = {"degree": int(degree), "gamma": gamma, "coef0": coef0}
    return kinds[name](**{one.name: values[one.name] for one in fields(kinds[name])})  # type: ignore[no-any-return]


def vectors_of_lines(lines: list[list[str]], kernel: Kernel) -> tuple[Csr, np.ndarray]:
    """Return support vectors as sparse rows, and their row numbers, which are known for a precomputed kernel only."""
    pairs = [[(int(index), float(value)) for index, value in (word.split(":") for word in line)] for line in lines]
    if isinstance(kernel, Precomputed):
        if any(len(line) != 1 or line[0][0] != 0 or line[0][1] != int(line[0][1]) for line in pairs):
            raise ValueError("a support vector of a precomputed kernel reads 0:row")
        places = np.array([int(line[0][1]) - 1 for line in pairs], dtype=np.intp)
        if places.size and places.min() < 0:
            raise ValueError("row numbers are counted from 1")
        width = int(places.max(initial=-1)) + 1
        return Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(len(lines) + 1, np.int64), width), places
    for number, line in enumerate(pairs):
        check_indices([index for index, _ in line], number)
    indices = np.array([index - 1 for line in pairs for index, _ in line], dtype=np.int32)
    values = np.array([value for line in pairs for _, value in line], dtype=np.float64)
    indptr = np.concatenate([[0], np.cumsum([len(line) for line in pairs], dtype=np.int64)]).astype(np.int64)
    if not np.all(np.isfinite(values)):
        raise ValueError("a support vector with a value that is no finite number")
    return Csr(values, indices, indptr, int(indices.max()) + 1 if indices.size else 0), np.arange(len(lines))


def check_indices(indices: list[int], number: int) -> None:
    """Raise if indices do not increase, or if LIBSVM cannot have written them."""
    if not indices:
        return
    if indices[0] < 1:
        raise ValueError(f"support vector {number + 1} has the index {indices[0]}: features are counted from 1")
    if any(a >= b for a, b in pairwise(indices)):
        raise ValueError(f"support vector {number + 1} has indices that do not increase")
    if indices[-1] > LARGEST_INDEX:
        raise ValueError(f"support vector {number + 1} has the index {indices[-1]}, the largest is {LARGEST_INDEX}")


def finite(found: list[str], name: str) -> np.ndarray:
    """Parse numbers of the header; raise if one is not finite."""
    numbers = np.array([float(word) for word in found])
    if not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name} holds a number that is not finite")
    return numbers
