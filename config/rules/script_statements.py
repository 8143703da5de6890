"""T-SQL scripts as statements: those about rules and USE are parsed, others passed over."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from config.rules.control_flow import Branch, ControlFlow
from config.rules.existence_checks import ExistenceCheck, text_of
from config.rules.guards import Condition
from config.rules.hidden_rules import HiddenRules
from config.rules.reserved_words import STARTERS
from config.rules.rule_grammar import NAMES, Grammar, Parsed, UndefinedError, UnexpectedError, short
from config.rules.script_tokens import Comment, Token, Tokens
from config.rules.sqlcmd import VARIABLE, command_of, unquoted
from config.rules.statements import Origin
from config.rules.transactions import Transactions

_BODIES = {
    "PROC": "a procedure",
    "PROCEDURE": "a procedure",
    "FUNCTION": "a function",
    "TRIGGER": "a trigger",
    "VIEW": "a view",
}
_TRAN = ("TRAN", "TRANSACTION")
_SWITCHES_OFF = ("NOEXEC", "PARSEONLY")


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


@dataclass(frozen=True)
class Unread:
    """Text that is not read: where it stands, what it is, and what to do."""

    token: Token
    message: str
    fix: str
    database: str | None


@dataclass(frozen=True)
class Honor:
    """ALTER DATABASE ... SET HONOR_BROKER_PRIORITY; a database of None is the source's."""

    token: Token
    database: str | None
    is_on: bool


class Statements:
    """The statements of a script.

    Iterate over it once for those that are read, in order; the other attributes are complete then. Words
    between semicolons, GO and the statements that are read count as one statement: telling others apart needs
    the whole of T-SQL. The body of a procedure, function, trigger or view is part of the statement that makes
    it.

    Attributes:
        passed_over: how many other statements there are.
        problems: what is wrong, and where.
        unread: text about rules that is not read.
        assumed: RETURN and ROLLBACK under conditions that no script decides, by the statement concerned.
        honors: what the script does to HONOR_BROKER_PRIORITY.
        transactions: which statements are taken back.
        undefined: variables without a value: the first place and how many, by name.
    """

    def __init__(self, script: Tokens, database: str | None = None, instance: str | None = None) -> None:
        """Take the tokens, the database before the first USE, and the instance; nothing is parsed yet."""
        self.passed_over = 0
        self.problems: list[tuple[Origin, str]] = []
        self.unread: list[Unread] = []
        self.assumed: dict[int, Branch] = {}
        self.honors: list[Honor] = []
        self.transactions = Transactions()
        self.undefined: dict[str, tuple[Origin, str, int]] = {}
        self._script = script
        self._tokens = script.tokens
        self._grammar = Grammar(script)
        self._at = 0
        self._database = database
        self._instance = instance
        self._flow = ControlFlow()
        self._hidden = HiddenRules()
        self._run: Token | None = None  # where the passed-over words since the last separator begin
        self._depth = 0
        self._count = 0
        self._doubtful_exit: Branch | None = None
        self._switched_off: Token | None = None
        self._batch_has_rules = False
        self._used_directives: set[int] = set()

    def __iter__(self) -> Iterator[Statement]:
        """Go through the script."""
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == "COMMAND":
                self._command(token)
            elif self._is_go(self._at):
                self._go()
            elif token.text == ";":
                self._at += 1
                self._semicolon(token)
            elif self._is_read(self._at) and (token.word != "USE" or self._depth == 0):
                yield from self._read()
            elif self._run is None and (body := self._body_at(self._at)):
                self._pass_over_body(body)
            else:
                self._other(token)
        self.transactions.end()
        unused = self._script.directives.keys() - self._used_directives
        lost = [comment.origin for index in unused for comment in self._script.directives[index]]
        for place in (*lost, *self._script.misplaced):
            self._problem(
                place,
                "a comment with a moment of effect stands alone in its line, directly before the CREATE, "
                "ALTER or DROP BROKER PRIORITY that it is for; move it there",
            )
        for place, name, uses in self.undefined.values():
            more = f" (used {uses} times)" if uses > 1 else ""
            self._problem(
                place,
                f"the variable {name} has no value{more}; write :setvar {name[2:-1]} and the value above it, "
                f"or variables: {{{name[2:-1]}: ...}} in the settings",
            )
        self.problems.sort()

    # --- Places ---------------------------------------------------------------------------------------------

    def _problem(self, place: Origin, message: str) -> None:
        self.problems.append((place, message))

    def _word(self, index: int) -> str:
        """The word at index in capitals; empty if there is none."""
        return self._tokens[index].word if 0 <= index < len(self._tokens) else ""

    def _is_go(self, index: int) -> bool:
        return self._word(index) == "GO" and self._tokens[index].starts_line

    def _is_read(self, index: int) -> bool:
        word = self._tokens[index].word
        if word in ("CREATE", "ALTER", "DROP"):
            words = [self._word(index + ahead) for ahead in (1, 2, 3)]
            return words[0] == "BROKER" or words == ["OR", "ALTER", "BROKER"]
        return word == "USE"

    def _body_at(self, index: int) -> str | None:
        """What a statement at index makes that has a body of statements."""
        if self._word(index) not in ("CREATE", "ALTER"):
            return None
        what = self._word(index + (3 if self._word(index + 1) == "OR" else 1))
        return _BODIES.get(what)

    def note_undefined(self, token: Token) -> None:
        """Record the variables without a value in a token."""
        for match in VARIABLE.finditer(token.text):
            key = match[1].lower()
            place, name, uses = self.undefined.get(key, (self._script.origin(token), match[0], 0))
            self.undefined[key] = (place, name, uses + 1)

    def _is_unread(self, token: Token, message: str, fix: str) -> None:
        self.unread.append(Unread(token, message, fix, self._database))

    # --- Batches --------------------------------------------------------------------------------------------

    def _go(self) -> None:
        """A batch ends; what it left open does not reach into the next one."""
        go = self._tokens[self._at]
        self._at += 1
        times = "1"
        if self._at < len(self._tokens) and not self._tokens[self._at].starts_line:
            token = self._tokens[self._at]
            self._at += 1
            if token.kind == "NUMBER" and (
                self._at >= len(self._tokens) or self._tokens[self._at].starts_line
            ):
                times = token.text.lstrip("0")
            else:
                self._problem(self._script.origin(token), "GO stands alone in its line; begin a new one")
        if times != "1" and self._batch_has_rules:
            message = f"GO {short(times) or 0} repeats the rule statements of its batch; write GO"
            self._problem(self._script.origin(go), message)
        self._flow, self._batch_has_rules, self._doubtful_exit = ControlFlow(), False, None
        self._hidden.end_batch()
        self._end_run()

    def _semicolon(self, token: Token) -> None:
        waiting = self._flow.waiting
        if waiting and all(branch.test is not None for branch in waiting):
            message = f"{waiting[-1].token.word} has no statement before this ;, so it is no T-SQL"
            self._problem(self._script.origin(token), f"{message}; take the ; away")
            waiting.clear()
        self._hidden.begin_statement("")
        self._end_run()

    def _end_run(self) -> None:
        self._run, self._depth = None, 0

    def _command(self, token: Token) -> None:
        """A line for sqlcmd: an included file, another server, the end."""
        self._at += 1
        self._end_run()
        name, argument = command_of(token.text)
        if name == "r":
            self._include(token, unquoted(argument))
        elif name == "connect":
            server = unquoted(argument.split()[0]) if argument else ""
            if server.lower() != (self._instance or "").lower():
                self._is_unread(
                    token,
                    f":connect {short(server)}: not read, so what follows counts for the source's instance",
                    "write a file an instance, each with its entry in rules:",
                )
        elif name in ("quit", "exit"):
            self._switched_off = token

    def _include(self, token: Token, path: str) -> None:
        if VARIABLE.search(path):
            self.note_undefined(token)
            return
        origin = self._script.origin(token)
        folders = (os.path.dirname(self._script.source.file), "")
        found = [os.path.join(folder, path.replace("\\", os.sep)) for folder in folders]
        if not any(os.path.isfile(each) for each in found):
            self._problem(origin, f"there is no file {path} to include; correct the path or create the file")
            return
        self._is_unread(token, f"the included file {path}: not read", "add it to rules: in the settings")

    # --- Statements that are read ---------------------------------------------------------------------------

    def _read(self) -> Iterator[Statement]:
        start, first = self._at, self._tokens[self._at]
        self._end_run()
        self._flow.begin_statement()
        self._hidden.begin_statement(first.word)
        is_rule = first.word != "USE"
        if is_rule:
            self._used_directives.add(start)
        parsed = self._parse()
        if parsed is None or not self._is_certain(first):
            return
        if not is_rule:
            self._database = text_of(parsed.name)
        elif not self._is_carried_out(first):
            return
        self._batch_has_rules |= is_rule
        directives = tuple(self._directives(start, first)) if is_rule else ()
        condition = self._flow.condition(self._script.origin)
        if is_rule:
            self._count += 1
            self.transactions.add(self._count, first)
            if self._doubtful_exit:
                self.assumed[self._count] = self._doubtful_exit
        yield Statement(parsed, self._count, first, directives, condition, self._database)

    def _parse(self) -> Parsed | None:
        """Parse the statement that begins here; after an error, go to where the next one may begin."""
        try:
            return self._grammar.parse(self._at)
        except UnexpectedError as error:
            self._problem(error.place, error.message)
        except UndefinedError as error:
            self.note_undefined(error.token)
        finally:
            self._at = max(self._grammar.at, self._at + 1)
        while not self._grammar.ends(self._at) and not self._is_read(self._at):
            self._at += 1
        return None

    def _directives(self, start: int, first: Token) -> Iterator[Comment]:
        if start not in self._script.directives:
            return
        line = self._script.origin(first).line
        for comment in self._script.directives[start]:
            if comment.starts_line or comment.end_line == line:
                yield comment
            else:
                message = "a comment with a moment of effect counts for the statement after it; put it there"
                self._problem(comment.origin, message)

    def _is_certain(self, first: Token) -> bool:
        """Whether nothing but the rules before it decides if the statement is carried out."""
        for branch in self._flow.branches():
            if branch.test is None or first.word == "USE":
                self._refuse_under(branch.token, first)
                return False
        return True

    def _refuse_under(self, token: Token, first: Token) -> None:
        line = self._script.origin(token).line
        message = (
            f"stands under the {token.word} of line {line}, so the script alone can't say whether it is "
            "carried out; write it without a condition"
        )
        if first.word != "USE":
            message += ", or ask for its name in sys.conversation_priorities alone"
        self._problem(self._script.origin(first), message)

    def _is_carried_out(self, first: Token) -> bool:
        """Whether the script gets to the statement at all."""
        left = self._switched_off or self._flow.left_at
        if left is None:
            return True
        line = self._script.origin(left).line
        if left.word == "GOTO":
            message = f"stands behind the GOTO of line {line}; write it before, or without GOTO"
            self._problem(self._script.origin(first), message)
        else:
            what = short(left.text) if left.kind == "COMMAND" else left.word
            self._is_unread(
                first, f"stands behind the {what} of line {line}: not read", "move it, or take it away"
            )
        return False

    # --- What is passed over --------------------------------------------------------------------------------

    def _begin_run(self, token: Token) -> None:
        if self._run is None:
            self._run = token
            self.passed_over += 1

    def _pass_over_body(self, what: str) -> None:
        self._begin_run(self._tokens[self._at])
        while self._at < len(self._tokens) and not self._is_go(self._at):
            token = self._tokens[self._at]
            if token.kind in ("STRING", "QUOTED"):
                self._string(token)
            elif token.word == "BROKER" and self._word(self._at + 1) == "PRIORITY":
                self._is_unread(
                    self._tokens[self._at - 1],
                    f"BROKER PRIORITY in the body of {what}: not read",
                    "write what it does as statements of the script",
                )
            elif token.word in STARTERS:
                self._hidden.begin_statement(token.word)
            self._at += 1

    def _string(self, token: Token) -> None:
        if self._hidden.has_rule(token):
            self._is_unread(
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
            self._at += 1
            return
        if word == "BROKER" and self._word(self._at + 1) == "PRIORITY":
            begin = self._run or token
            self._problem(
                self._script.origin(begin),
                "a statement about a BROKER PRIORITY begins with CREATE, ALTER or DROP, "
                f"found {short(begin.text)}",
            )
        self._flow.look_at(word)
        if word == "CASE":
            self._flow.begin_case()
        elif self._flow.is_in_case:
            if word == "END":
                self._flow.end()
        elif self._depth == 0 and self._control(word, token):
            return
        self._begin_run(token)
        self._at += 1

    def _control(self, word: str, token: Token) -> bool:
        """Keep up with control flow and transactions; true if the words were taken."""
        after = self._word(self._at + 1)
        match word:
            case "IF" if not self._is_drop_if_exists():
                return self._if(token)
            case "WHILE":
                self._flow.branch(Branch(token, has_else=False))
            case "ELSE":
                self._flow.otherwise(token)
                self._at += 1
                return True
            case "BEGIN" if after in _TRAN or after == "DISTRIBUTED":
                self._flow.begin_statement()
                self._transaction(token)
                return True
            case "BEGIN" if after not in ("DIALOG", "CONVERSATION"):
                self._flow.begin_block(token, is_catch=after == "CATCH")
                self._at += 2 if after in ("TRY", "CATCH") else 1
                return True
            case "END" if after != "CONVERSATION":
                self._flow.end()
                self._at += 2 if after in ("TRY", "CATCH") else 1
                return True
            case "COMMIT" | "ROLLBACK" | "SAVE" if self._word(self._at - 1) != "WITH":
                self._flow.begin_statement()
                self._transaction(token)
                return True
            case _ if word in STARTERS or (word in ("ENABLE", "DISABLE") and after == "TRIGGER"):
                self._flow.begin_statement()
                self._hidden.begin_statement(word)
                self._simple(word, token)
        return False

    def _if(self, token: Token) -> bool:
        check = ExistenceCheck(self._tokens, self._at + 1, self._database or "")
        try:
            test = check.read()
        except UndefinedError as error:
            self.note_undefined(error.token)
            test = None
        if test is None or not self._begins_statement(check.at):
            self._flow.branch(Branch(token))
            return False
        self._flow.branch(Branch(token, test))
        self._at = check.at
        return True

    def _begins_statement(self, index: int) -> bool:
        return self._grammar.ends(index) or self._word(index) in STARTERS or self._word(index) == "WITH"

    def _is_drop_if_exists(self) -> bool:
        """DROP TABLE IF EXISTS name is no control flow; IF EXISTS (...) is."""
        opens = self._at + 2 < len(self._tokens) and self._tokens[self._at + 2].text == "("
        return self._word(self._at + 1) == "EXISTS" and not opens

    def _transaction(self, token: Token) -> None:
        """BEGIN TRAN, SAVE TRAN, COMMIT or ROLLBACK, with what names it."""
        self._at += 1
        while self._word(self._at) in (*_TRAN, "DISTRIBUTED", "WORK"):
            self._at += 1
        name = ""
        if not self._grammar.ends(self._at) and not self._tokens[self._at].starts_line:
            following = self._tokens[self._at]
            if following.kind in NAMES and following.word not in (*STARTERS, "WITH"):
                name = text_of(following).lower()
                self._at += 1
        under = list(self._flow.branches())
        if self._flow.left_at or self._switched_off or any(branch.is_catch for branch in under):
            return
        match token.word:
            case "BEGIN" if not under or not self.transactions.is_open:
                self.transactions.begin(token, name)
            case "SAVE":
                self.transactions.save(name)
            case "COMMIT":
                self.transactions.commit()
            case "ROLLBACK" if not under:
                self.transactions.rollback(token, name)
            case "ROLLBACK" if not any(branch.is_of_errors for branch in under):
                self.assumed.update(dict.fromkeys(self.transactions.pending(), under[-1]))

    def _simple(self, word: str, token: Token) -> None:
        """Look at a statement that begins with a word and is not about rules."""
        after = self._word(self._at + 1)
        if word in ("RETURN", "GOTO"):
            under = list(self._flow.branches())
            self._flow.leave(token)
            doubtful = [branch for branch in under if branch.test is None and not branch.is_catch]
            if doubtful and not any(branch.is_of_errors for branch in under):
                self._doubtful_exit = self._doubtful_exit or doubtful[0]
        elif (
            word == "SET"
            and self._run is None
            and self._tokens[self._at + 1 : self._at + 2]
            and (self._tokens[self._at + 1].text == "(")
        ):
            self._problem(
                self._script.origin(token),
                "SET ( belongs to the CREATE or ALTER BROKER PRIORITY before it; take away what parts them",
            )
        elif word == "SET" and after in _SWITCHES_OFF and not any(True for _ in self._flow.branches()):
            self._switched_off = self._tokens[self._at + 1] if self._word(self._at + 2) == "ON" else None
        elif word == "SET" and after == "IMPLICIT_TRANSACTIONS":
            self.transactions.is_implicit = self._word(self._at + 2) == "ON"
        elif word == "ALTER" and after == "DATABASE":
            self._alter_database(token)

    def _alter_database(self, token: Token) -> None:
        index = self._at + 2
        if index >= len(self._tokens) or self._tokens[index].kind not in NAMES:
            return
        name = self._tokens[index]
        database = self._database if name.word == "CURRENT" else text_of(name)
        while not self._grammar.ends(index):
            word = self._word(index)
            if word == "HONOR_BROKER_PRIORITY":
                is_on = self._word(index + 1) or self._word(index + 2)
                if is_on in ("ON", "OFF"):
                    self.honors.append(Honor(token, database, is_on == "ON"))
            elif word in STARTERS and word not in ("SET", "ROLLBACK"):
                return
            index += 1
