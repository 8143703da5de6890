"""Print what makes a shell complete commands and options on Tab."""

from collections.abc import Sequence

from pipelines.commands.options import Parser
from pipelines.console.invocation import PROGRAM

SHELLS = ("bash", "zsh", "fish", "powershell")


def main(argv: Sequence[str]) -> int:
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
