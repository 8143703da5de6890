"""Text about rules in strings, which a script builds and runs: it is found, not read."""

import re

from pipelines.config.rules.script_tokens import Token

_RULE = re.compile(
    r"\bBROKER(?:\s|/\*.{0,200}?\*/|--[^\r\n]{0,200}+[\r\n])++PRIORITY\b", re.IGNORECASE | re.DOTALL
)
_HEAD = re.compile(r"\bBROKER\s*\Z", re.IGNORECASE)
_REST = re.compile(r"\s*PRIORITY\b", re.IGNORECASE)
_TAIL = 40
"""Characters of a string that the next one may go on from."""
_SAYS = ("PRINT", "RAISERROR", "THROW")


class HiddenRules:
    """Looks at the strings of a batch, one after another, also across the + between them."""

    def __init__(self) -> None:
        """Nothing was looked at."""
        self._tail = ""
        self._is_message = False

    def begin_statement(self, word: str) -> None:
        """A statement begins; what it prints is not carried out."""
        self._is_message = word in _SAYS

    def end_batch(self) -> None:
        """No string goes on behind GO."""
        self._tail, self._is_message = "", False

    def has_rule(self, token: Token) -> bool:
        """Whether text about a rule ends in this string."""
        if self._is_message:
            return False
        begin = 2 if token.text[0] in "Nn" else 1
        text = token.text[begin:-1]
        before, self._tail = self._tail, (self._tail + text[-_TAIL:])[-_TAIL:]
        if _HEAD.search(before) and _REST.match(text):
            return True  # CHAR(10) or a variable may stand between the two
        return any(match.end() > len(before) for match in _RULE.finditer(before + text))
