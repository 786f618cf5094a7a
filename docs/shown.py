"""Code as pages show it: run, with what it printed below."""

import io
from contextlib import redirect_stdout
from textwrap import dedent


def shown(code: str) -> str:
    """A block of Python and a block of what it prints."""
    code = dedent(code).strip("\n") + "\n"
    with redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "shown", "exec"), {})
    return f"```python\n{code}```\n```text\n{out.getvalue()}```"
