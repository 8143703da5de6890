"""Say which version this is, and print what makes a shell complete words."""

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from pipelines import __version__
from pipelines.commands.options import Parser
from pipelines.console.invocation import PROGRAM

SHELLS = ("bash", "zsh", "fish", "powershell")


def print_completion(argv: Sequence[str]) -> int:
    """Parse the command line, and print the script of a shell."""
    parser = Parser(
        "completion",
        "Print what makes a shell complete commands and options on Tab.\n\n"
        f'bash, zsh    eval "$({PROGRAM} completion bash)" in ~/.bashrc or ~/.zshrc\n'
        f"fish         {PROGRAM} completion fish > ~/.config/fish/completions/{PROGRAM}.fish\n"
        f"PowerShell   {PROGRAM} completion powershell | Out-String | Invoke-Expression in $PROFILE",
        example="bash",
        config=False,
    )
    parser.add_argument("shell", choices=SHELLS)
    options = parser.parse_args(argv)
    from argcomplete.shell_integration import shellcode

    print(shellcode([PROGRAM], shell=options.shell))
    return 0


PACKAGES = ("pysail", "pyspark", "pyspark-client", "deltalake", "pyarrow")


def print_version(argv: Sequence[str]) -> int:
    """Parse the command line, and print one line."""
    parser = Parser("version", "Say which version this is, and on what it runs.", config=False)
    parser.parse_args(argv)
    found = {name: installed for name in PACKAGES if (installed := _find_version(name))}
    on = ", ".join(f"{name} {installed}" for name, installed in found.items())
    print(f"priorities {__version__} (Python {platform.python_version()}, {on})")
    return 0


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


COMMANDS = {"version": print_version, "completion": print_completion}
"""The commands of this module by their names."""
