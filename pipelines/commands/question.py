"""What all questions have in common: options, a published as_of, an answer for people or programs."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.console.terminal import to_json
from pipelines.settings.load import Settings
from pipelines.storage.ages import Ages, read_ages
from pipelines.storage.published import published_as_of
from pipelines.storage.warehouse import Warehouse

ANYWHERE = ({"instance": None, "database": None},)
"""All databases."""


@dataclass(frozen=True)
class Asked:
    """What a question is asked with.

    Attributes:
        settings: those that --config names, with the catalog of as_of.
        warehouse: their tables.
        as_of: the published as_of.
        options: the command line.
    """

    settings: Settings
    warehouse: Warehouse
    as_of: datetime
    options: Namespace


@dataclass(frozen=True)
class Question:
    """A command that asks about a published as_of and writes nothing. It is called with the command line.

    Attributes:
        name: of the command.
        help: what it does.
        example: the options of one call.
        answer: returns the answer.
        show: prints it for people.
        plain: returns what --format json prints of it.
        options: adds the options of this command alone.
        limit: the default of --limit, and what it limits; None without the option.
        has_wide: whether it has --wide.
        check: refuses options that don't fit together, before anything is read.
        exit_code: the exit code of an answer.
        tells_age: whether it says first how old the facts of databases are; JSON, an object, has `stale`.
        places: whose age is told: instances and databases of which an answer speaks, null for any.
    """

    name: str
    help: str
    example: str
    answer: Callable[[Asked], Any]
    show: Callable[[Any, Asked], None]
    plain: Callable[[Any, Asked], Any] = lambda answer, asked: answer
    options: Callable[[Parser], None] = lambda parser: None
    limit: tuple[int, str] | None = None
    has_wide: bool = False
    check: Callable[[Namespace], None] = lambda options: None
    exit_code: Callable[[Any], int] = lambda answer: 0
    tells_age: bool = False
    places: Callable[[Any, Asked], Sequence[Mapping[str, Any]]] = lambda answer, asked: ANYWHERE

    def __call__(self, argv: Sequence[str]) -> int:
        """Parse the command line, ask, and print the answer."""
        parser = Parser(self.name, self.help, example=self.example)
        self.options(parser)
        parser.add_as_of()
        if self.limit is not None:
            parser.add_limit(*self.limit)
        parser.add_format()
        if self.has_wide:
            parser.add_wide()
        options = parser.parse_args(argv)
        self.check(options)
        settings, warehouse = opened(options, self.name)
        as_of = published_as_of(warehouse, settings, options.as_of, says_age=not self.tells_age)
        asked = Asked(settings.at(as_of), warehouse, as_of, options)
        answer = self.answer(asked)
        if options.format == "json":
            print(to_json(self._values(answer, asked)))
        else:
            for line in self._ages(answer, asked).lines() if self.tells_age else ():
                print(line)
            self.show(answer, asked)
        return self.exit_code(answer)

    def ask(self, asked: Asked) -> Any:
        """Return the answer as --format json has it, for Python programs."""
        return self._values(self.answer(asked), asked)

    def _values(self, answer: Any, asked: Asked) -> Any:
        plain = self.plain(answer, asked)
        return {**plain, "stale": self._ages(answer, asked).stale} if self.tells_age else plain

    def _ages(self, answer: Any, asked: Asked) -> Ages:
        return read_ages(asked.warehouse, asked.settings, asked.as_of).of(self.places(answer, asked))
