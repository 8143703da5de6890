"""How findings are put into words."""

from pipelines.console.wording import format_count


def test_one_of_a_thing_is_one_thing() -> None:
    assert [format_count(count, "conversation") for count in (0, 1, 2_000)] == [
        "0 conversations",
        "1 conversation",
        "2,000 conversations",
    ]
