"""Cases of one test as a reader sees them: what is written, and what is said of it.

    cases('''
        receive: {top: 0}     => 6:16: receive.top: is 0; write 1 or more
        receive: {topp: 1}    => 6:11: receive.topp: unknown key; did you mean 'top'?
        rules: [{path: r.yaml, instance: no}]
        => 6:34: rules[0].instance: no is not text to YAML;
           write it in quotes: 'no'
    ''')

What is written ends before `=>`; a line behind `=>` is said of it, and lines that are indented deeper than
what is written go on with it. A line of its own that begins with `=>` is one more that is said. Blank lines
part cases for the eye only.
"""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pipelines.config.errors import ConfigError


def cases(drawing: str) -> list[Any]:
    """Parameters: a text that is written, and the lines that are said of it."""
    written: list[str] = []
    said: list[str] = []
    found = []
    for line in [*dedent(drawing).splitlines(), ""]:
        text, arrow, line_said = line.partition("=>")
        if said and not arrow and line.startswith("  "):
            said[-1] += f" {line.strip()}"
            continue
        if said and (text.strip() or not line.strip()):
            found.append(pytest.param("\n".join(written), said, id=" ".join(written)))
            written, said = [], []
        if text.strip():
            written.append(text.rstrip())
        if arrow:
            said.append(line_said.strip())
    assert found
    assert not written, f"nothing is said of {written}"
    return found


def lines_of_error(folder: Path, act: Callable[..., object], *given: Any, **named: Any) -> list[str]:
    """The lines of the error that a call ends with; files of the folder are named as in it."""
    with pytest.raises(ConfigError) as caught:
        act(*given, **named)
    return str(caught.value).replace(f"{folder}/", "").split("\n")
