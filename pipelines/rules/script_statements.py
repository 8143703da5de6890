"""T-SQL scripts as statements: those about rules and USE are parsed, others passed over."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.rules.existence_checks import text_of
from pipelines.rules.rule_grammar import Parsed, UndefinedError, UnexpectedError, short
from pipelines.rules.script_control import follow, run_command
from pipelines.rules.script_reading import ScriptReading
from pipelines.rules.script_tokens import STARTERS, Comment, Token, Tokens
from pipelines.rules.statements import Condition

_BODIES = {
    "PROC": "a procedure",
    "PROCEDURE": "a procedure",
    "FUNCTION": "a function",
    "TRIGGER": "a trigger",
    "VIEW": "a view",
}


@dataclass(frozen=True)
class Statement:
    """A statement that is read.

    Attributes:
        parsed: what it says.
        number: its number in `Transactions`.
        first: its first token.
        directives: the comments with a moment of effect before it.
        condition: when it is carried out.
        database: that of the last USE; None without one.
    """

    parsed: Parsed
    number: int
    first: Token
    directives: tuple[Comment, ...]
    condition: Condition
    database: str | None


class Statements(ScriptReading):
    """The statements of a script.

    Iterate over it once for those that are read, in order; the other attributes are complete then. Words
    between semicolons, GO and the statements that are read count as one statement: telling others apart needs
    the whole of T-SQL. The body of a procedure, function, trigger or view is part of the statement that makes
    it.

    Attributes:
        passed_over: how many other statements there are.
    """

    def __init__(self, script: Tokens, database: str | None = None, instance: str | None = None) -> None:
        """Take the tokens, the database before the first USE, and the instance; nothing is read yet."""
        super().__init__(script, database, instance)
        self.passed_over = 0
        self._run: Token | None = None  # where the passed-over words since the last separator begin
        self._depth = 0
        self._batch_has_rules = False
        self._used_directives: set[int] = set()

    def __iter__(self) -> Iterator[Statement]:
        """Go through the script."""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "COMMAND":
                self._end_run()
                run_command(self, token)
            elif self.is_go(self.at):
                self._go()
            elif token.text == ";":
                self.at += 1
                self._semicolon(token)
            elif self._is_read(self.at) and (token.word != "USE" or self._depth == 0):
                yield from self._read()
            elif self._run is None and (body := self._body_at(self.at)):
                self._pass_over_body(body)
            else:
                self._other(token)
        self.transactions.end()
        unused = self.script.directives.keys() - self._used_directives
        lost = [comment.location for index in unused for comment in self.script.directives[index]]
        for place in (*lost, *self.script.misplaced):
            self.problem(
                place,
                "a comment with a moment of effect stands alone in its line, directly before the CREATE, "
                "ALTER or DROP BROKER PRIORITY that it is for; move it there",
            )
        for place, name, uses in self.undefined.values():
            more = f" (used {uses} times)" if uses > 1 else ""
            self.problem(
                place,
                f"the variable {name} has no value{more}; write :setvar {name[2:-1]} and the value above it, "
                f"or variables: {{{name[2:-1]}: ...}} in the settings",
            )
        self.problems.sort()

    # --- Places ---------------------------------------------------------------------------------------------

    def _is_read(self, index: int) -> bool:
        word = self.tokens[index].word
        if word in ("CREATE", "ALTER", "DROP"):
            words = [self.word(index + ahead) for ahead in (1, 2, 3)]
            return words[0] == "BROKER" or words == ["OR", "ALTER", "BROKER"]
        return word == "USE"

    def _opens(self, index: int) -> bool:
        return index < len(self.tokens) and self.tokens[index].text == "("

    def _body_at(self, index: int) -> str | None:
        """What a statement at index makes that has a body of statements."""
        if self.word(index) not in ("CREATE", "ALTER"):
            return None
        what = self.word(index + (3 if self.word(index + 1) == "OR" else 1))
        return _BODIES.get(what)

    # --- Batches --------------------------------------------------------------------------------------------

    def _go(self) -> None:
        """A batch ends; what it left open does not reach into the next one."""
        go = self.tokens[self.at]
        self.at += 1
        times = "1"
        if self.at < len(self.tokens) and not self.tokens[self.at].starts_line:
            token = self.tokens[self.at]
            self.at += 1
            if token.kind == "NUMBER" and (self.at >= len(self.tokens) or self.tokens[self.at].starts_line):
                times = token.text.lstrip("0")
            else:
                self.problem(self.script.location(token), "GO stands alone in its line; begin a new one")
        if times != "1" and self._batch_has_rules:
            message = f"GO {short(times) or 0} repeats the rule statements of its batch; write GO"
            self.problem(self.script.location(go), message)
        self.flow, self._batch_has_rules, self.doubtful_exit = self.flow.next_batch(), False, None
        self.hidden.end_batch()
        self._end_run()

    def _semicolon(self, token: Token) -> None:
        waiting = self.flow.waiting
        if waiting and all(branch.test is not None for branch in waiting):
            message = f"{waiting[-1].token.word} has no statement before this ;, so it is no T-SQL"
            self.problem(self.script.location(token), f"{message}; take the ; away")
            waiting.clear()
        self.hidden.begin_statement("")
        self._end_run()

    def _end_run(self) -> None:
        self._run, self._depth = None, 0

    # --- Statements that are read ---------------------------------------------------------------------------

    def _read(self) -> Iterator[Statement]:
        start, first = self.at, self.tokens[self.at]
        self._end_run()
        self.flow.begin_statement()
        self.hidden.begin_statement(first.word)
        is_rule = first.word != "USE"
        if is_rule:
            self._used_directives.add(start)
        parsed = self._parse()
        if parsed is None or not self._is_certain(first):
            if not is_rule:
                self.database = self.database or ""  # what follows lacks no USE: this one is wrong
            return
        if not is_rule:
            self.database = text_of(parsed.name)
        elif not self._is_carried_out(first):
            return
        self._batch_has_rules |= is_rule
        directives = tuple(self._directives(start, first)) if is_rule else ()
        condition = self.flow.condition(self.script.location)
        if is_rule:
            self.count += 1
            self.transactions.add(self.count, first)
            if doubt := self.doubtful_exit or self.doubtful_end:
                self.assumed[self.count] = doubt
        yield Statement(parsed, self.count, first, directives, condition, self.database)

    def _parse(self) -> Parsed | None:
        """Parse the statement that begins here; after an error, go to where the next one may begin."""
        try:
            return self.grammar.parse(self.at)
        except UnexpectedError as error:
            self.problem(error.place, error.message)
        except UndefinedError as error:
            self.note_undefined(error.token)
        finally:
            self.at = max(self.grammar.at, self.at + 1)
        while not self.grammar.ends(self.at) and not self._is_read(self.at):
            self.at += 1
        return None

    def _directives(self, start: int, first: Token) -> Iterator[Comment]:
        if start not in self.script.directives:
            return
        line = self.script.location(first).line
        for comment in self.script.directives[start]:
            if comment.starts_line or comment.end_line == line:
                yield comment
            else:
                message = "a comment with a moment of effect counts for the statement after it; put it there"
                self.problem(comment.location, message)

    def _is_certain(self, first: Token) -> bool:
        """Whether nothing but the rules before it decides if the statement is carried out."""
        for branch in self.flow.branches():
            if branch.test is None or first.word == "USE":
                if not branch.is_refused:
                    self._refuse_under(branch.token, first)
                return False
        return True

    def _refuse_under(self, token: Token, first: Token) -> None:
        line = self.script.location(token).line
        message = (
            f"stands under the {token.word} of line {line}, so the script alone can't say whether it is "
            "carried out; write it without a condition"
        )
        if first.word != "USE":
            message += ", or ask for its name in sys.conversation_priorities alone"
        self.problem(self.script.location(first), message)

    def _is_carried_out(self, first: Token) -> bool:
        """Whether the script gets to the statement at all."""
        left = self.switched_off or self.flow.left_at or self.flow.jumped_from
        if left is None:
            return True
        line = self.script.location(left).line
        if left.word == "GOTO":
            message = f"stands behind the GOTO of line {line}; write it before, or without GOTO"
            self.problem(self.script.location(first), message)
        else:
            what = short(left.text) if left.kind == "COMMAND" else left.word
            self.leave_unread(
                first, f"stands behind the {what} of line {line}: not read", "move it, or take it away"
            )
        return False

    # --- What is passed over --------------------------------------------------------------------------------

    def _begin_run(self, token: Token) -> None:
        if self._run is None:
            self._run = token
            self.passed_over += 1

    def _pass_over_body(self, what: str) -> None:
        self._begin_run(self.tokens[self.at])
        while self.at < len(self.tokens) and not self.is_go(self.at):
            token = self.tokens[self.at]
            if token.kind in ("STRING", "QUOTED"):
                self._string(token)
            elif token.word == "BROKER" and self.word(self.at + 1) == "PRIORITY":
                self.leave_unread(
                    self.tokens[self.at - 1],
                    f"BROKER PRIORITY in the body of {what}: not read",
                    "write what it does as statements of the script",
                )
            elif token.kind == "COMMAND":
                run_command(self, token)
                continue
            elif token.word in STARTERS:
                self.hidden.begin_statement(token.word)
            self.at += 1

    def _string(self, token: Token) -> None:
        if self.hidden.has_rule(token):
            self.leave_unread(
                token,
                "BROKER PRIORITY in a string: not read",
                "write what it does as a statement of the script",
            )

    def _other(self, token: Token) -> None:
        """Take in one word of what is not read."""
        word = token.word
        if not word:
            self._begin_run(token)
            if token.kind in ("STRING", "QUOTED"):
                self._string(token)
            elif token.kind == "SYMBOL":
                self._depth += {"(": 1, ")": -1}.get(token.text, 0)
            self.at += 1
            return
        if word == "BROKER" and self.word(self.at + 1) == "PRIORITY":
            begin = self._run or token
            self.problem(
                self.script.location(begin),
                "a statement about a BROKER PRIORITY begins with CREATE, ALTER or DROP, "
                f"found {short(begin.text)}",
            )
        if word == "SET" and self._run is None and self._opens(self.at + 1):
            self.problem(
                self.script.location(token),
                "SET ( belongs to the CREATE or ALTER BROKER PRIORITY before it; take away what parts them",
            )
        if word == "CREATE" and self.word(self.at + 1) in ("CONTRACT", "SERVICE"):
            self.created += [(self.database, name) for name in self.tokens[self.at + 2 : self.at + 3]]
        self.flow.look_at(word)
        if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text == ":":
            self.flow.label(word)
        if word == "CASE":
            self.flow.begin_case()
        elif self.flow.is_in_case:
            if word == "END":
                self.flow.end()
        elif self._depth == 0 and follow(self, word, token):
            return
        self._begin_run(token)
        self.at += 1
