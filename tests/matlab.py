"""Runs MATLAB functions of a small subset by the rules of MATLAB: values are
copies, indices count from one.

The subset: functions with several results; ``for``, ``if`` and ``else``; assignment to names,
elements and columns; matrix literals; ``+ - * / ^ .' < > == ~=``; the functions of `FUNCTIONS`.
Anything else raises an error. GNU Octave judges the reading where it is installed
(`tests/ident/export/test_matlab_function.py`).
"""

import re
from collections.abc import Callable
from functools import cache

import numpy as np

FUNCTIONS: dict[str, Callable[..., object]] = {
    "zeros": lambda *shape: np.zeros([int(one.item()) for one in shape]),
    "eye": lambda n: np.eye(int(n.item())),
    "reshape": lambda a, *shape: a.reshape([int(one.item()) for one in shape], order="F"),
    "cross": lambda a, b: np.cross(a, b, axis=0),
    "dot": lambda a, b: np.sum(a * b),
    "norm": np.linalg.norm,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "tanh": np.tanh,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "max": np.maximum,
    "min": np.minimum,
}
CONSTANTS = {"NaN": np.nan}
_TOKEN = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|\.'|~=|==|[-+*/^<>=(),;:\[\]])")
_HEAD = re.compile(r"function (?:\[(.*?)\]|(\w+)) = (\w+)\((.*?)\)")
_BINARY = {
    "+": np.add,
    "-": np.subtract,
    "<": np.less,
    ">": np.greater,
    "==": np.equal,
    "~=": np.not_equal,
}


class Matlab:
    """The functions of a file; ``Matlab(text)("name", results, *arguments)``."""

    def __init__(self, text: str) -> None:
        self.functions = {}
        lines = iter(
            " ".join(line.split("%")[0].split())
            for line in re.sub(r"\.\.\.\s*\n", " ", text).splitlines()
        )
        for line in filter(None, lines):
            many, one, name, taken = _HEAD.fullmatch(line).groups()
            results = [part.strip() for part in (many or one).split(",")]
            self.functions[name] = (
                results,
                [part.strip() for part in taken.split(",")],
                _block(lines)[0],
            )

    def __call__(self, name: str, results: int, *arguments: object) -> tuple[np.ndarray, ...]:
        given, taken, block = self.functions[name]
        scope = dict(zip(taken, map(_matrix, arguments), strict=True))
        self._run(block, scope)
        return tuple(scope[one] for one in given[:results])

    def _run(self, block: list[tuple], scope: dict[str, np.ndarray]) -> None:
        for kind, *parts in block:
            if kind == "for":
                name, bounds, inner = parts
                first, *step, last = [int(self._value(part, scope).item()) for part in bounds]
                for count in range(first, last + (1 if not step or step[0] > 0 else -1), *step):
                    scope[name] = _matrix(count)
                    self._run(inner, scope)
            elif kind == "if":
                condition, inner, other = parts
                self._run(inner if self._value(condition, scope).all() else other, scope)
            else:
                targets, tokens = parts
                values = (self._value(tokens, scope),)
                if len(targets) > 1:
                    name, arguments = _call(tokens)
                    values = self(
                        name, len(targets), *(self._value(one, scope) for one in arguments)
                    )
                for target, value in zip(targets, values, strict=True):
                    self._assign(target, value, scope)

    def _assign(
        self, target: tuple[str, ...], value: np.ndarray, scope: dict[str, np.ndarray]
    ) -> None:
        name, *index = target
        if not index:
            scope[name] = value.copy()
            return
        _, arguments = _call(target)
        at = [
            slice(None) if one == (":",) else int(self._value(one, scope).item()) - 1
            for one in arguments
        ]
        array = scope[name]
        if len(at) == 1:
            array[np.unravel_index(at[0], array.shape, order="F")] = value.item()
        else:
            array[tuple(at)] = value.reshape(array[tuple(at)].shape)

    def _value(self, tokens: tuple[str, ...], scope: dict[str, np.ndarray]) -> np.ndarray:
        value, rest = self._compared(tokens, scope)
        assert not rest, f"not read: {' '.join(rest)}"
        return value

    def _compared(self, tokens, scope):
        return self._chain(tokens, scope, ("<", ">", "==", "~="), self._sum)

    def _sum(self, tokens, scope):
        return self._chain(tokens, scope, ("+", "-"), self._product)

    def _chain(self, tokens, scope, signs, part):
        value, rest = part(tokens, scope)
        while rest and rest[0] in signs:
            other, after = part(rest[1:], scope)
            value, rest = _matrix(_BINARY[rest[0]](value, other)), after
        return value, rest

    def _product(self, tokens, scope):
        value, rest = self._signed(tokens, scope)
        while rest and rest[0] in ("*", "/"):
            other, after = self._signed(rest[1:], scope)
            if rest[0] == "/":
                assert other.size == 1
                value = value / other
            else:
                value = value * other if 1 in (value.size, other.size) else value @ other
            rest = after
        return value, rest

    def _signed(self, tokens, scope):
        if tokens[0] == "-":
            value, rest = self._signed(tokens[1:], scope)
            return -value, rest
        value, rest = self._whole(tokens, scope)
        if rest and rest[0] == "^":
            power, rest = self._whole(rest[1:], scope)
            assert value.size == power.size == 1
            value = value**power
        return value, rest

    def _whole(self, tokens, scope):
        value, rest = self._primary(tokens, scope)
        while rest and rest[0] == ".'":
            value, rest = value.T, rest[1:]
        return value, rest

    def _primary(self, tokens, scope):
        word = tokens[0]
        if word[0].isdigit():
            return _matrix(float(word)), tokens[1:]
        if word in ("(", "["):
            inner, rest = _enclosed(tokens)
            if word == "(":
                return self._value(inner, scope), rest
            return np.block(
                [
                    [self._value(one, scope) for one in _parts(row, ",")]
                    for row in _parts(inner, ";")
                ]
            ), rest
        if len(tokens) < 2 or tokens[1] != "(":
            return (scope[word] if word in scope else _matrix(CONSTANTS[word])), tokens[1:]
        inner, rest = _enclosed(tokens[1:])
        arguments = _parts(inner, ",")
        if word not in scope:
            values = [self._value(one, scope) for one in arguments]
            found = (
                self(word, 1, *values)[0] if word in self.functions else FUNCTIONS[word](*values)
            )
            return _matrix(found), rest
        at = [
            slice(None) if one == (":",) else int(self._value(one, scope).item()) - 1
            for one in arguments
        ]
        array = scope[word]
        assert all(one == slice(None) or one >= 0 for one in at), f"{word}: indices count from 1"
        if len(at) == 1:
            flat = array.reshape(-1, 1, order="F")
            return flat[at[0] if at[0] == slice(None) else slice(at[0], at[0] + 1)].copy(), rest
        found = array[tuple(one if one == slice(None) else slice(one, one + 1) for one in at)]
        return (found[:, :, 0] if found.ndim == 3 else found).copy(), rest


def _matrix(value: object) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    return array.reshape(-1, 1) if array.ndim < 2 else array


@cache
def _tokens(text: str) -> tuple[str, ...]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, f"not read: {text[at:]}"
        found.append(match[1])
        at = match.end()
    return tuple(found)


def _enclosed(tokens: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands between the first bracket and its end, and what follows."""
    depth = 0
    for at, word in enumerate(tokens):
        depth += (word in "([") - (word in ")]")
        if depth == 0:
            return tokens[1:at], tokens[at + 1 :]
    raise AssertionError(f"open bracket: {' '.join(tokens)}")


def _parts(tokens: tuple[str, ...], mark: str) -> list[tuple[str, ...]]:
    """Split at marks outside brackets."""
    parts, depth = [[]], 0
    for word in tokens:
        depth += (word in "([") - (word in ")]")
        if word == mark and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return [tuple(one) for one in parts]


def _call(tokens: tuple[str, ...]) -> tuple[str, list[tuple[str, ...]]]:
    inner, rest = _enclosed(tokens[1:])
    assert not rest
    return tokens[0], _parts(inner, ",")


def _block(lines) -> tuple[list[tuple], str]:
    """Statements up to ``end`` or ``else``, and which it was."""
    block: list[tuple] = []
    for line in filter(None, lines):
        if line in ("end", "else"):
            return block, line
        head, _, rest = line.partition(" ")
        if head == "for":
            name, _, bounds = rest.partition(" = ")
            block.append(("for", name, _parts(_tokens(bounds), ":"), _block(lines)[0]))
        elif head == "if":
            inner, closed = _block(lines)
            block.append(("if", _tokens(rest), inner, _block(lines)[0] if closed == "else" else []))
        else:
            assert line.endswith(";"), f"not a statement: {line}"
            target, _, value = line[:-1].partition(" = ")
            words = _tokens(target)
            block.append(
                ("set", _parts(words[1:-1], ",") if words[0] == "[" else [words], _tokens(value))
            )
    return block, ""
