"""Exported C and C++, compiled without any warning, and run."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

CC, CXX = shutil.which("cc"), shutil.which("c++")
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic"]
needs_c = pytest.mark.skipif(CC is None, reason="there is no C compiler")
needs_cpp = pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")


def accept(source: Path, *options: str) -> None:
    """Let the compiler of the source's language read it; a warning raises."""
    compiler = CC if source.suffix == ".c" else CXX
    _called([str(compiler), *STRICT, "-fsyntax-only", *options, str(source)])


def compiled(source: Path, *options: str) -> Path:
    """Program of a source, beside it; a warning raises."""
    compiler = CC if source.suffix == ".c" else CXX
    program = source.with_suffix("")
    _called([str(compiler), "-O1", *STRICT, *options, str(source), "-o", str(program), "-lm"])
    return program


def printed(program: Path, numbers: np.ndarray) -> np.ndarray:
    """Numbers that a program prints when it reads these numbers, flat."""
    given = "\n".join(map(repr, np.ravel(numbers).tolist()))
    return np.array(_called([str(program)], given).split(), dtype=float)


def _called(command: Sequence[str], given: str | None = None) -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout
