"""The one sentence with which the command line refuses options and arguments."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
# words of the parser: ours
_OWN = (
    (r", unable to parse string as an? \w+", ""),
    (r"\bInput should be\b", "it must be"),
    (r"^Invalid value(?: for)?:? ?", ""),
    (r" \(Possible options: (.+)\)$", r"; did you mean \1?"),
    (r"\.$", ""),
    (r"\. Did you mean", "; did you mean"),
)


def of_parser(error: Any, arguments: Sequence[str]) -> str:
    """Return the sentence for an error of the parser of options: what is wrong, what was
    found, where the help is.
    """
    text = error.format_message()
    for words, own in _OWN:
        text = re.sub(words, own, text)
    parameter = getattr(error, "param", None)
    names = (*getattr(parameter, "opts", ()), *getattr(parameter, "secondary_opts", ()))
    if option := next((word for word in arguments if word.partition("=")[0] in names), None):
        found = option.partition("=")[2] or next(iter(arguments[arguments.index(option) + 1 :]), "")
        text = re.sub(r"^'[^:]*': ", f"{option.partition('=')[0]} {found!r}: ", text)
    help_of = (
        f"{error.ctx.command_path} --help"
        if getattr(error, "ctx", None) is not None
        else "stribeck --help"
    )
    return f"{text[0].lower()}{text[1:]}; see {help_of}"


def with_option(message: str, arguments: Sequence[str]) -> str:
    """Return a message with the option whose value it quotes in front, unless the message names
    an option or file already.
    """
    if re.search(r"(?<![\w-])--[a-z]|/|^[\w.-]+\.\w+:", message):
        return message
    quoted = {one or other for one, other in _QUOTED.findall(message)}
    words = [
        word
        for argument in arguments
        for word in (argument.split("=", 1) if argument.startswith("--") else (argument,))
    ]
    for option, value in pairwise(words):
        if re.match(r"--?[a-z]", option) and (
            value in quoted or quoted & set(re.split(r"[,:=.\[]", value))
        ):
            return f"{option} {value}: {message}"
    return message
