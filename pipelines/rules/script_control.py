"""Control flow, transactions, options and lines for sqlcmd: what they mean for the rules of a script."""

import os

from pipelines.config.errors import ConfigError
from pipelines.rules.control_flow import Branch
from pipelines.rules.existence_checks import ExistenceCheck, text_of
from pipelines.rules.rule_grammar import NAMES, UndefinedError, short
from pipelines.rules.script_reading import Honor, ScriptReading
from pipelines.rules.script_tokens import STARTERS, Token
from pipelines.rules.sqlcmd import QUOTED_VALUE, VARIABLE, command_of, strip_quotes

_DEEPEST = 500
"""Blocks and conditions in each other; more are no script that a server runs."""
_TRAN = ("TRAN", "TRANSACTION")
_SWITCHES_OFF = ("NOEXEC", "PARSEONLY")


def follow(reading: ScriptReading, word: str, token: Token) -> bool:
    """Keep up with control flow and transactions; true if the words were taken.

    Raises:
        ConfigError: blocks are nested too deeply.
    """
    after = reading.word(reading.at + 1)
    if reading.flow.depth > _DEEPEST:
        place = reading.script.location(token)
        raise ConfigError(f"{place}: IF and BEGIN are nested more than {_DEEPEST} deep; part the script")
    match word:
        case "IF" if not _is_drop_if_exists(reading):
            return _if(reading, token)
        case "WHILE":
            reading.flow.branch(Branch(token, has_else=False))
        case "ELSE":
            reading.flow.otherwise(token)
            reading.at += 1
            return True
        case "BEGIN" if after in _TRAN or after == "DISTRIBUTED":
            reading.flow.begin_statement()
            _transaction(reading, token)
            return True
        case "BEGIN" if after not in ("DIALOG", "CONVERSATION"):
            reading.flow.begin_block(token, is_catch=after == "CATCH", is_try=after == "TRY")
            reading.at += 2 if after in ("TRY", "CATCH") else 1
            return True
        case "END" if after != "CONVERSATION":
            reading.flow.end()
            reading.at += 2 if after in ("TRY", "CATCH") else 1
            return True
        case "COMMIT" | "ROLLBACK" | "SAVE" if reading.word(reading.at - 1) != "WITH":
            reading.flow.begin_statement()
            _transaction(reading, token)
            return True
        case _ if word in STARTERS or (word in ("ENABLE", "DISABLE") and after == "TRIGGER"):
            reading.flow.begin_statement()
            reading.hidden.begin_statement(word)
            _simple(reading, word, token)
    return False


def _if(reading: ScriptReading, token: Token) -> bool:
    """Read the condition of an IF; true if the rules decide it."""
    check = ExistenceCheck(reading.tokens, reading.at + 1, reading.database or "")
    try:
        test = check.read()
    except UndefinedError as error:
        reading.note_undefined(error.token)
        reading.flow.branch(Branch(token, is_refused=True))
        return False
    if test is None or not _begins_statement(reading, check.at):
        reading.flow.branch(Branch(token, is_of_errors=_is_of_command_mode(reading)))
        return False
    reading.flow.branch(Branch(token, test))
    reading.at = check.at
    return True


def _is_of_command_mode(reading: ScriptReading) -> bool:
    """IF N'$(IsOn)' NOT LIKE N'True', which never holds where sqlcmd has put True in."""
    tokens = reading.tokens[reading.at + 1 : reading.at + 5]
    if [token.word for token in tokens] != ["", "NOT", "LIKE", ""]:
        return False
    return tokens[0].kind == tokens[3].kind == "STRING" and text_of(tokens[0]) == text_of(tokens[3])


def _begins_statement(reading: ScriptReading, index: int) -> bool:
    return reading.grammar.ends(index) or reading.word(index) in STARTERS or reading.word(index) == "WITH"


def _is_drop_if_exists(reading: ScriptReading) -> bool:
    """DROP TABLE IF EXISTS name is no control flow; IF EXISTS (...) is."""
    opens = reading.at + 2 < len(reading.tokens) and reading.tokens[reading.at + 2].text == "("
    return reading.word(reading.at + 1) == "EXISTS" and not opens


def _transaction(reading: ScriptReading, token: Token) -> None:
    """BEGIN TRAN, SAVE TRAN, COMMIT or ROLLBACK, with what names it."""
    reading.at += 1
    while reading.word(reading.at) in (*_TRAN, "DISTRIBUTED", "WORK"):
        reading.at += 1
    name = ""
    if not reading.grammar.ends(reading.at) and not reading.tokens[reading.at].starts_line:
        following = reading.tokens[reading.at]
        is_rule = following.word == "BROKER" and reading.word(reading.at + 1) == "PRIORITY"
        if following.kind in NAMES and following.word not in (*STARTERS, "WITH") and not is_rule:
            name = text_of(following).lower()
            reading.at += 1
    under = list(reading.flow.branches())
    if reading.flow.left_at or reading.switched_off or any(branch.is_catch for branch in under):
        return
    match token.word:
        case "BEGIN" if not under or not reading.transactions.is_open:
            reading.transactions.begin(token, name)
        case "SAVE":
            reading.transactions.save(name)
        case "COMMIT":
            if under and under[-1].test is None and not under[-1].is_of_errors:
                reading.doubtful_commit = under[-1], list(reading.transactions.pending())
            if reading.flow.may_be_left:
                reading.assumed.update(
                    dict.fromkeys(reading.transactions.pending(), reading.flow.may_be_left)
                )
            reading.transactions.commit()
        case "ROLLBACK" if not under:
            reading.transactions.rollback(token, name)
        case "ROLLBACK" if not any(branch.is_of_errors for branch in under):
            reading.assumed.update(dict.fromkeys(reading.transactions.pending(), under[-1]))
            if reading.doubtful_commit and under[-1].token.word == "ELSE":
                branch, statements = reading.doubtful_commit
                reading.assumed.update(dict.fromkeys(statements, branch))


def _simple(reading: ScriptReading, word: str, token: Token) -> None:
    """Look at a statement that begins with a word and is not about rules."""
    after = reading.word(reading.at + 1)
    if word in ("RETURN", "GOTO", "THROW"):
        _leave_batch(reading, token, after if word == "GOTO" else "")
    elif word == "RAISERROR" and _closes_session(reading):
        _end_script(reading, token)
    elif word == "SET" and after in _SWITCHES_OFF:
        _switch(reading, reading.tokens[reading.at + 1], is_on=reading.word(reading.at + 2) == "ON")
    elif word == "SET" and after == "IMPLICIT_TRANSACTIONS":
        reading.transactions.is_implicit = reading.word(reading.at + 2) == "ON"
    elif word == "ALTER" and after == "DATABASE":
        _alter_database(reading, token)


def _leave_batch(reading: ScriptReading, token: Token, label: str) -> None:
    """RETURN, GOTO or THROW; in a TRY block THROW goes on behind its CATCH."""
    if token.word == "THROW" and reading.flow.is_in_try:
        under = list(reading.flow.branches()) or [Branch(token)]
        doubt = _doubt(under, under)
    else:
        under = list(reading.flow.branches())
        reading.flow.leave(token, label)
        doubt = _doubt(under, [branch for branch in under if branch.test is None])
    reading.doubtful_exit = reading.doubtful_exit or doubt


def _end_script(reading: ScriptReading, token: Token) -> None:
    """Nothing behind this is carried out, in no batch."""
    if reading.flow.left_at:
        return
    under = list(reading.flow.branches())
    if reading.flow.may_be_left:
        reading.doubtful_end = reading.doubtful_end or reading.flow.may_be_left
    elif not under:
        reading.switched_off = reading.switched_off or token
    elif all(branch.test is not None for branch in under):
        reading.flow.end_script(under)
    else:
        doubt = _doubt(under, [branch for branch in under if branch.test is None])
        reading.doubtful_end = reading.doubtful_end or doubt


def _doubt(under: list[Branch], doubtful: list[Branch]) -> Branch | None:
    """The first of doubtful branches; none where a script looks for its own errors."""
    is_of_errors = any(branch.is_of_errors or branch.is_catch for branch in under)
    return None if is_of_errors or not doubtful else doubtful[0]


def _switch(reading: ScriptReading, option: Token, *, is_on: bool) -> None:
    """SET NOEXEC or PARSEONLY; OFF undoes ON, and a session that was closed stays so."""
    if is_on:
        _end_script(reading, option)
    elif not any(True for _ in reading.flow.branches()):
        reading.flow.go_on()
        reading.doubtful_end = None
        if reading.switched_off and reading.switched_off.word in _SWITCHES_OFF:
            reading.switched_off = None


def _closes_session(reading: ScriptReading) -> bool:
    """RAISERROR of a severity of 20 or more, or of state 127, at which sqlcmd ends."""
    numbers: list[int] = []
    depth, begins_argument = 0, False
    for index in range(reading.at + 1, len(reading.tokens)):
        token = reading.tokens[index]
        if depth == 1 and begins_argument:
            numbers.append(int(token.text) if token.kind == "NUMBER" and len(token.text) < 4 else -1)
        begins_argument = depth == 1 and token.text == ","
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth <= 0 or reading.grammar.ends(index):
            break
    return len(numbers) >= 2 and (numbers[0] >= 20 or numbers[1] == 127)


def _alter_database(reading: ScriptReading, token: Token) -> None:
    """Look for HONOR_BROKER_PRIORITY among the options that are set."""
    index = reading.at + 2
    if index >= len(reading.tokens) or reading.tokens[index].kind not in NAMES:
        return
    name = reading.tokens[index]
    database = reading.database if name.word == "CURRENT" else text_of(name)
    while not reading.grammar.ends(index):
        word = reading.word(index)
        if word == "HONOR_BROKER_PRIORITY":
            is_on = reading.word(index + 1) or reading.word(index + 2)
            if is_on in ("ON", "OFF"):
                reading.honors.append(Honor(token, database, is_on == "ON"))
        elif word in STARTERS and word not in ("SET", "ROLLBACK"):
            return
        index += 1


def run_command(reading: ScriptReading, token: Token) -> None:
    """Take in one such line; those that change nothing for rules are passed over."""
    reading.at += 1
    name, argument = command_of(token.text)
    if name == "r":
        _include(reading, token, strip_quotes(argument))
    elif name == "setvar":
        _set(reading, token, argument)
    elif name == "connect":
        server = strip_quotes(argument.split()[0]) if argument else ""
        if server.lower() != (reading.instance or "").lower():
            reading.leave_unread(
                token,
                f":connect {short(server)}: not read, so what follows counts for the source's instance",
                "write a file an instance, each with its entry in rules:",
            )
    elif name in ("quit", "exit"):
        reading.switched_off = token


def _set(reading: ScriptReading, token: Token, argument: str) -> None:
    """Refuse a value that sqlcmd does not take: with blanks and without quotes, or with words behind it."""
    name, _, value = argument.partition(" ")
    value = value.strip()
    if value and not QUOTED_VALUE.fullmatch(value) and len(value.split()) > 1:
        reading.problem(
            reading.script.location(token),
            f"the value of {name}, {short(value)}, has blanks; write it in quotes, and a comment in a line "
            "of its own",
        )


def _include(reading: ScriptReading, token: Token, path: str) -> None:
    if VARIABLE.search(path):
        reading.note_undefined(token)
        return
    location = reading.script.location(token)
    folders = (os.path.dirname(reading.script.source.file), "")
    found = [os.path.join(folder, path.replace("\\", os.sep)) for folder in folders]
    if not any(os.path.isfile(each) for each in found):
        reading.problem(location, f"there is no file {path} to include; correct the path or create the file")
        return
    reading.leave_unread(token, f"the included file {path}: not read", "add it to rules: in the settings")
