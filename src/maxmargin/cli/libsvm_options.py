"""What the options of LIBSVM's and LIBLINEAR's programs mean in ours.

Both have an option -s, with different meanings. It is LIBSVM's beside a kernel or an option that only LIBSVM has, else
LIBLINEAR's. Defaults are theirs too: LIBLINEAR has no bias without -B, LIBSVM has γ = 1/d without -g.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from maxmargin.errors import ParameterError

OF_LIBSVM = {"-t", "-g", "-d", "-r", "-n"}  # LIBLINEAR has only -n, beside -s 21
NO_L1 = "L1 regularisation is not there: take -s 2 or -s 0, with L2 regularisation"
NO_SQUARED = "the squared epsilon-insensitive loss is not there: take -s 13"

SOLVER_TYPES: Mapping[str, tuple[str, ...]] = {
    "0": ("--loss", "logistic"),
    "1": ("--loss", "squared_hinge"),
    "2": ("--loss", "squared_hinge"),
    "3": ("--loss", "hinge"),
    "7": ("--loss", "logistic"),
    "13": ("--task", "regress"),
    "21": ("--task", "novelty"),
}
REFUSED = {
    "4": "the multiclass SVM of Crammer and Singer is not there: take -s 1, one class against the rest",
    "5": NO_L1,
    "6": NO_L1,
    "11": NO_SQUARED,
    "12": NO_SQUARED,
}
TASKS = {"0": "classify", "1": "classify", "2": "novelty", "3": "regress", "4": "regress"}  # of LIBSVM's svm types
WITHOUT_NU = ("0", "3")
KERNELS = {"0": "linear", "1": "polynomial", "2": "gaussian", "3": "sigmoid"}
SAME = {"-d": "--degree", "-r": "--coef0", "-p": "--epsilon", "-m": "--cache"}


class Translation(NamedTuple):
    """What was typed, the options that it becomes, and a remark."""

    typed: str
    options: tuple[str, ...]
    remark: str = ""

    def __str__(self) -> str:
        became = f"{self.typed} is {' '.join(self.options) or 'the default'}"
        return f"{became} ({self.remark})" if self.remark else became


def of_train(theirs: Mapping[str, str], given: Collection[str]) -> list[Translation]:
    """Translate the options of `train`; `given` are the options of ours beside them."""
    if "-C" in theirs:
        raise ParameterError("-C searches C in LIBLINEAR: here, maxmargin tune does; -c sets it")
    of_libsvm = OF_LIBSVM - {"-n"} if theirs.get("-s") == "21" else OF_LIBSVM
    has_kernel = "--kernel" in given or not of_libsvm.isdisjoint(theirs)
    found = kernel(theirs, given) if has_kernel else []
    if "-s" in theirs:
        found.append(svm_type(theirs) if has_kernel else solver_type(theirs["-s"], theirs, given))
    elif "-n" in theirs:
        found.append(Translation(f"-n {theirs['-n']}", ("--nu", theirs["-n"])))
    if {"-B", "-R"} & set(theirs):
        found.append(bias(theirs))
    found += [Translation(f"{one} {theirs[one]}", (SAME[one], theirs[one])) for one in SAME if one in theirs]
    if "-e" in theirs:
        rule = "here the relative duality gap, another stopping rule"
        found.append(Translation(f"-e {theirs['-e']}", ("--tol", theirs["-e"]), rule))
    return [*found, *probability(theirs, "--probability"), *class_weight(theirs, given)]


def of_predict(theirs: Mapping[str, str], given: Collection[str]) -> list[Translation]:
    """Translate the options of `predict`."""
    quiet = [Translation("-q", (), "predict shows no progress")] if "-q" in theirs else []
    return [*probability(theirs, "--what", "probabilities"), *quiet]


def solver_type(number: str, theirs: Mapping[str, str], given: Collection[str]) -> Translation:
    """Translate LIBLINEAR's -s, with the bias that LIBLINEAR has without -B: none."""
    if number in REFUSED:
        raise ParameterError(f"-s {number}: {REFUSED[number]}")
    if number not in SOLVER_TYPES:
        raise ParameterError(f"-s {number} is no solver type of LIBLINEAR: choose one of {', '.join(SOLVER_TYPES)}")
    options = SOLVER_TYPES[number]
    if number == "21":
        options += ("--nu", theirs.get("-n", "0.5"))
    elif not {"-B", "-R"} & set(theirs) and "--bias" not in given:
        options += ("--bias", "none")
    return Translation(f"-s {number}", options, "a solver type of LIBLINEAR; svm types of LIBSVM need -t")


def svm_type(theirs: Mapping[str, str]) -> Translation:
    """Translate LIBSVM's -s, with its ν."""
    number, nu = theirs["-s"], theirs.get("-n")
    if number not in TASKS:
        raise ParameterError(f"-s {number} beside a kernel is no svm type of LIBSVM: choose one of {', '.join(TASKS)}")
    if nu is not None and number in WITHOUT_NU:
        raise ParameterError(f"-n {nu} has no meaning beside -s {number}: take -s {int(number) + 1}, or leave -n out")
    options = ("--task", TASKS[number])
    with_nu = options if number in WITHOUT_NU else (*options, "--nu", nu or "0.5")
    return Translation(f"-s {number}", with_nu, "an svm type of LIBSVM")


def kernel(theirs: Mapping[str, str], given: Collection[str]) -> list[Translation]:
    """Translate LIBSVM's kernel and γ, with its defaults: a Gaussian kernel, and γ = 1/d."""
    number = theirs.get("-t")
    if number == "4":
        raise ParameterError("-t 4: save the kernel matrix as .npy, and take --kernel precomputed with --labels")
    if number is not None and number not in KERNELS:
        raise ParameterError(f"-t {number} is no kernel of LIBSVM: choose one of {', '.join(KERNELS)}")
    found = []
    if number is not None:
        found.append(Translation(f"-t {number}", ("--kernel", KERNELS[number])))
    elif not {"--kernel", "--task", "--config"} & set(given):
        found.append(Translation("no -t", ("--kernel", "gaussian"), "LIBSVM's default"))
    if "-g" in theirs:
        value = theirs["-g"]
        found.append(Translation(f"-g {value}", ("--gamma", "auto" if value == "0" else value)))
    elif number in ("1", "2", "3") and not {"--gamma", "--sigma"} & set(given):
        found.append(Translation("no -g", ("--gamma", "auto"), "LIBSVM's default, 1/d"))
    return found


def bias(theirs: Mapping[str, str]) -> Translation:
    """Translate LIBLINEAR's -B and -R."""
    size = theirs.get("-B", "-1")
    typed = " ".join([f"-B {size}"] * ("-B" in theirs) + ["-R"] * ("-R" in theirs))
    if "-R" in theirs:
        if "-B" not in theirs:
            raise ParameterError("-R needs -B 1, as in LIBLINEAR; --bias free is the same")
        return Translation(typed, ("--bias", "free"), "a bias that is not regularised")
    if is_none(size):
        return Translation(typed, ("--bias", "none"))
    return Translation(typed, ("--bias", "regularised", "--bias-scale", size))


def is_none(size: str) -> bool:
    """Whether this size of LIBLINEAR's constant feature means no bias: it is negative, or 0."""
    try:
        return float(size) <= 0.0
    except ValueError:
        return False


def probability(theirs: Mapping[str, str], *options: str) -> list[Translation]:
    """Translate -b 1; -b 0 is the default."""
    value = theirs.get("-b")
    if value not in (None, "0", "1"):
        raise ParameterError(f"-b {value}: write -b 1 for probabilities, or -b 0")
    return [Translation(f"-b {value}", options if value == "1" else ())] if value else []


def class_weight(theirs: Mapping[str, str], given: Collection[str]) -> list[Translation]:
    """Translate -wLABEL WEIGHT, which may be given for several classes."""
    weights = {word[2:]: value for word, value in theirs.items() if word.startswith("-w")}
    if not weights:
        return []
    for label, value in weights.items():
        if "," in label + value:
            raise ParameterError(f"-w{label} {value}: a comma separates classes; in Python, give class_weight")
    typed = " ".join(f"-w{label} {value}" for label, value in weights.items())
    if "--class-weight" in given:
        raise ParameterError(f"{typed} weighs classes, and --class-weight does too: leave one out")
    pairs = ",".join(f"{whole(label)}={value}" for label, value in weights.items())
    return [Translation(typed, ("--class-weight", pairs))]


def whole(label: str) -> str:
    """Return a label as we show it: without the sign + of a number, or a decimal point behind a whole number."""
    try:
        value = float(label)
    except ValueError:
        return label
    return f"{int(value)}" if value.is_integer() else label
