"""T-SQL scripts as tokens, and the comments that say when a statement takes effect."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.config.errors import ConfigError
from pipelines.rules.statements import SourceLocation

DIRECTIVE = "effective_from"
"""A comment that begins with this word is a directive, whatever dashes and asterisks adorn it."""

# Quantifiers are possessive, so that text of any shape takes time in proportion to its length.
_PIECE = re.compile(
    r"""
      (?P<BLANK>[\s\ufeff]++)
    | (?P<WORD>(?![Nn]')[^\W\d](?:[\w@\#]|\$(?!\())*+ | [\#@](?:[\w@\#]|\$(?!\())*+)
    | (?P<LINE_COMMENT>--[^\r\n]*+)
    | (?P<OPEN>/\*)
    | (?P<STRING>[Nn]?'[^']*+(?:''[^']*+)*+')
    | (?P<QUOTED>"[^"]*+(?:""[^"]*+)*+")
    | (?P<BRACKETED>\[[^\]]*+(?:\]\][^\]]*+)*+\])
    | (?P<VARIABLE>\$\([\w-]++\))
    | (?P<NUMBER>\d[\w.]*+)
    | (?P<UNCLOSED>[Nn]?['"\[])
    | (?P<COMMAND>:[A-Za-z][^\r\n]*+ | !![^\r\n]*+)
    | (?P<SYMBOL>.)
    """,
    re.DOTALL | re.VERBOSE,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")
_CLOSED_BY = {"'": "'", '"': '"', "[": "]"}
_ADORNMENT = "*- \t\r\n"


_RESERVED = """
ADD ALL ALTER AND ANY AS ASC AUTHORIZATION BACKUP BEGIN BETWEEN BREAK BROWSE BULK BY CASCADE CASE
CHECK CHECKPOINT CLOSE CLUSTERED COALESCE COLLATE COLUMN COMMIT COMPUTE CONSTRAINT CONTAINS
CONTAINSTABLE CONTINUE CONVERT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP
CURRENT_USER CURSOR DATABASE DBCC DEALLOCATE DECLARE DEFAULT DELETE DENY DESC DISK DISTINCT
DISTRIBUTED DOUBLE DROP DUMP ELSE END ERRLVL ESCAPE EXCEPT EXEC EXECUTE EXISTS EXIT EXTERNAL FETCH
FILE FILLFACTOR FOR FOREIGN FREETEXT FREETEXTTABLE FROM FULL FUNCTION GOTO GRANT GROUP HAVING
HOLDLOCK IDENTITY IDENTITYCOL IDENTITY_INSERT IF IN INDEX INNER INSERT INTERSECT INTO IS JOIN KEY
KILL LEFT LIKE LINENO LOAD MERGE NATIONAL NOCHECK NONCLUSTERED NOT NULL NULLIF OF OFF OFFSETS ON
OPEN OPENDATASOURCE OPENQUERY OPENROWSET OPENXML OPTION OR ORDER OUTER OVER PERCENT PIVOT PLAN
PRECISION PRIMARY PRINT PROC PROCEDURE PUBLIC RAISERROR READ READTEXT RECONFIGURE REFERENCES
REPLICATION RESTORE RESTRICT RETURN REVERT REVOKE RIGHT ROLLBACK ROWCOUNT ROWGUIDCOL RULE SAVE
SCHEMA SECURITYAUDIT SELECT SEMANTICKEYPHRASETABLE SEMANTICSIMILARITYDETAILSTABLE
SEMANTICSIMILARITYTABLE SESSION_USER SET SETUSER SHUTDOWN SOME STATISTICS SYSTEM_USER TABLE
TABLESAMPLE TEXTSIZE THEN TO TOP TRAN TRANSACTION TRIGGER TRUNCATE TRY_CONVERT TSEQUAL UNION UNIQUE
UNPIVOT UPDATE UPDATETEXT USE USER VALUES VARYING VIEW WAITFOR WHEN WHERE WHILE WITH WITHIN
WRITETEXT
"""
_STARTERS = """
ALTER BACKUP BEGIN BREAK BULK CHECKPOINT CLOSE COMMIT CONTINUE CREATE DBCC DEALLOCATE DECLARE DELETE
DENY DROP ELSE END EXEC EXECUTE FETCH GET GOTO GRANT IF INSERT KILL MERGE MOVE OPEN PRINT RAISERROR
RECEIVE RECONFIGURE RESTORE RETURN REVERT REVOKE ROLLBACK SAVE SELECT SEND SET SHUTDOWN THROW
TRUNCATE UPDATE USE WAITFOR WHILE
"""
RESERVED = frozenset(_RESERVED.split())
"""Source: the page "Reserved Keywords (Transact-SQL)" of the vendor's documentation."""
STARTERS = frozenset(_STARTERS.split())
"""Words that begin a statement, so that the one before it may go without its semicolon."""


class Token:
    """A piece of a script.

    Attributes:
        kind: WORD, NUMBER, STRING, QUOTED, BRACKETED, SYMBOL, and of sqlcmd VARIABLE (without a value) and
            COMMAND (a whole line).
        text: as it is written.
        word: a WORD in capitals, else empty.
        start: offset in the text; `end` is behind it.
        starts_line: whether no other token stands before it in its line.
    """

    __slots__ = ("end", "kind", "start", "starts_line", "text", "word")

    def __init__(self, kind: str, text: str, start: int, end: int, starts_line: bool) -> None:
        """Take the parts."""
        self.kind = kind
        self.text = text
        self.word = text.upper() if kind == "WORD" else ""
        self.start = start
        self.end = end
        self.starts_line = starts_line


@dataclass(frozen=True)
class Comment:
    """A comment that is a directive: what stands behind the word, and where it is."""

    text: str
    location: SourceLocation
    starts_line: bool
    end_line: int


class Source:
    """The text of a script, and where its offsets are in the file.

    Where variables of sqlcmd were replaced, `pieces` has the offset in this text and in the file's text from
    which the two go on together.
    """

    def __init__(self, file: str, text: str, written: str, pieces: Sequence[tuple[int, int]] = ()) -> None:
        """Take the text to be read and the text as the file has it."""
        self.file = file
        self.text = text
        self._pieces = pieces
        self._starts = [piece[0] for piece in pieces]
        self._length = len(written)
        self._lines = [0, *(match.end() for match in re.finditer("\n", written))]

    def location(self, offset: int) -> SourceLocation:
        """Return where an offset of the text is in the file."""
        at = self._in_file(offset)
        line = bisect_right(self._lines, at)
        return SourceLocation(self.file, line, at - self._lines[line - 1] + 1)

    def _in_file(self, offset: int) -> int:
        if not self._pieces:
            return offset
        index = max(bisect_right(self._starts, offset) - 1, 0)
        here, there = self._pieces[index]
        limit = self._pieces[index + 1][1] if index + 1 < len(self._pieces) else self._length
        return min(there + offset - here, limit)


@dataclass
class Tokens:
    """The tokens of a script without its comments, and the directives by the token that follows them.

    Attributes:
        comments: offsets of all comments, begin and end.
        misplaced: comments with a directive in a line after their first.
    """

    source: Source
    tokens: list[Token] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    misplaced: list[SourceLocation] = field(default_factory=list)
    directives: dict[int, list[Comment]] = field(default_factory=lambda: defaultdict(list))

    @property
    def end(self) -> SourceLocation:
        """Where the text ends."""
        return self.source.location(len(self.source.text))

    def location(self, token: Token) -> SourceLocation:
        """Return where a token begins."""
        return self.source.location(token.start)


def tokenize(source: Source) -> Tokens:
    """Cut a script into tokens; the time is in proportion to its length.

    Raises:
        ConfigError: A comment, a string or a name in quotes or brackets is never closed.
    """
    found = Tokens(source)
    text, add = source.text, found.tokens.append
    at, length, is_fresh = 0, len(text), True
    while at < length:
        for match in _PIECE.finditer(text, at):
            kind, start, at = match.lastgroup or "", *match.span()
            if kind == "BLANK":
                is_fresh = is_fresh or "\n" in match[0]
            elif kind == "LINE_COMMENT":
                _comment(found, start, at, text[start + 2 : at], is_fresh)
            elif kind == "OPEN":
                at = _comment_end(found, start)
                _comment(found, start, at, text[start + 2 : at - 2], is_fresh)
                is_fresh = is_fresh or text.find("\n", start, at) >= 0
                break
            elif kind == "UNCLOSED":
                mark = match[0][-1]
                message = f"what begins with {mark} is never closed; add the closing {_CLOSED_BY[mark]}"
                raise ConfigError(f"{source.location(at - 1)}: {message}")
            elif kind == "COMMAND" and not is_fresh:
                at = start + 1
                add(Token("SYMBOL", text[start], start, at, False))
                break
            else:
                add(Token(kind, match[0], start, at, is_fresh))
                is_fresh = False
    return found


def _comment_end(found: Tokens, start: int) -> int:
    """Where a block comment ends; comments nest."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(found.source.text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    location = found.source.location(start)
    raise ConfigError(f"{location}: this comment is never closed; add */ (comments nest)")


def _comment(found: Tokens, start: int, end: int, text: str, is_fresh: bool) -> None:
    """Record a comment; if it is a directive, for the token that follows it."""
    found.comments.append((start, end))
    if DIRECTIVE not in text.lower():
        return
    offset = 0
    for line in text.splitlines(keepends=True):
        said = line.lstrip(_ADORNMENT)
        behind = said[len(DIRECTIVE) :]
        if said[: len(DIRECTIVE)].lower() == DIRECTIVE and not (behind[:1].isalnum() or behind[:1] == "_"):
            break
        offset += len(line)
    else:
        return
    begin = offset + len(line) - len(behind)
    if text[:offset].strip(_ADORNMENT):
        if text[begin:].lstrip().startswith(":"):
            found.misplaced.append(found.source.location(start))
        return
    comment = Comment(
        text[begin:].rstrip(_ADORNMENT),
        found.source.location(start),
        is_fresh,
        found.source.location(end).line,
    )
    found.directives[len(found.tokens)].append(comment)
