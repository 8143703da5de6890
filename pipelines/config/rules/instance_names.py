"""Instances and databases of rules whose names differ from known ones by case only."""

from collections.abc import Iterable, Iterator

from pipelines.config.rules.rule_file import Note, NoteKind, RuleFile


def misspelt_places(files: Iterable[RuleFile], known: Iterable[tuple[str, str]]) -> Iterator[Note]:
    """Yield a note for the first statement of each place that is known in another case.

    Args:
        files: what was read.
        known: instance and database, of all that catalog and snapshots have.
    """
    places = set(known)
    alike = {
        (instance.casefold(), database.casefold()): (instance, database) for instance, database in places
    }
    said = set(places)
    for file in files:
        for statement in file.statements:
            place = statement.instance, statement.database
            meant = alike.get((place[0].casefold(), place[1].casefold()))
            if meant is None or place in said:
                continue
            said.add(place)
            message = (
                f"the rules of {'.'.join(place)} count for no endpoint of {'.'.join(meant)}, which catalog "
                "or snapshots have"
            )
            fix = "write instance and database in the same case"
            yield Note(NoteKind.OTHER_CASE, statement.origin, message, fix, *place)
