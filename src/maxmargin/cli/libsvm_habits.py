"""Arguments as LIBSVM's and LIBLINEAR's programs take them, rewritten before the option parser sees them.

    train -s 2 -B 1 -w1 3    becomes    train --loss squared_hinge --bias regularised --bias-scale 1 --class-weight 1=3

What each option becomes is in libsvm_options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from maxmargin.cli.libsvm_options import Translation, of_predict, of_train
from maxmargin.errors import ParameterError

VALUED = {
    "train": re.compile(r"-(?:[stgdrnpeBbm]|w.*)"),
    "tune": re.compile(r"-(?:[stgdrnpeBbm]|w.*)"),
    "predict": re.compile("-b"),
}  # options of theirs that take a value
BARE = {"train": {"-R", "-C"}, "tune": {"-R"}, "predict": {"-q"}}
TRANSLATE = {"train": of_train, "tune": of_train, "predict": of_predict}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def rewritten(arguments: list[str], valued: Callable[[str], Collection[str]]) -> tuple[list[str], str]:
    """Return the arguments in our options, and a note on what theirs became; "" if there were none.

    `valued(command)` returns the options of a command that take a value: the word behind one is left alone.
    """
    command = arguments[0] if arguments else ""
    if command not in TRANSLATE or not any(is_theirs(command, word) for word in arguments):
        return arguments, ""
    theirs, ours = separated(command, arguments[1:], valued(command))
    given = {word.partition("=")[0] for word in ours if word.startswith("-")}
    found = TRANSLATE[command](theirs, given)
    check_once(found, given)
    return [command, *(word for one in found for word in one.options), *ours], "; ".join(map(str, found))


def is_theirs(command: str, word: str) -> bool:
    """Whether a word is an option of theirs."""
    return word in BARE[command] or bool(VALUED[command].fullmatch(word))


def separated(command: str, words: list[str], valued: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """Return their options with values, and all other words. The last of two equal options counts, as with them."""
    theirs: dict[str, str] = {}
    ours: list[str] = []
    at = 0
    while at < len(words) and words[at] != "--":
        word, value = words[at], words[at + 1] if at + 1 < len(words) else None
        takes_value = bool(VALUED[command].fullmatch(word))
        if is_theirs(command, word) and not is_model_name(word, value):
            theirs[word] = checked(word, value) if takes_value else ""
        else:
            takes_value = word in valued
            ours += words[at : at + 1 + takes_value]
        at += 1 + takes_value
    return theirs, [*ours, *words[at:]]


def is_model_name(word: str, value: str | None) -> bool:
    """Whether -m is ours, the place of the model: LIBSVM's is followed by a number of megabytes."""
    return word == "-m" and not NUMBER.fullmatch(value or "")


def checked(word: str, value: str | None) -> str:
    """Return the value of an option; raise if there is none."""
    if word == "-w":
        raise ParameterError("-w needs the label of a class behind it: -w1 2 gives class 1 the weight 2")
    if value is None:
        raise ParameterError(f"{word} needs a value: {word} 1 say")
    return value


def check_once(found: list[Translation], given: Collection[str]) -> None:
    """Raise if an option that theirs becomes is given too."""
    for one in found:
        for option in one.options:
            if option in given:
                raise ParameterError(
                    f"{one.typed} is {' '.join(one.options)}, and {option} is given too: leave one out"
                )
