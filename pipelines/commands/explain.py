"""Explain the priority of a conversation, the place of a message, or the level of a group."""

from collections.abc import Sequence
from dataclasses import asdict

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.console.terminal import to_json
from pipelines.explain.explanations import (
    explain_conversation,
    explain_group,
    explain_message,
    honor_settings,
)
from pipelines.explain.view import Explanation, print_explanation
from pipelines.storage.published import published_as_of

KINDS = {
    "conversation": "conversation_id or a conversation_handle; GUIDs in any spelling",
    "message": "message_id",
    "group": "conversation_group_id",
}


def main(argv: Sequence[str]) -> int:
    """Print what is known of one conversation, message or group."""
    parser = Parser(
        "explain",
        "Explain the priority of a conversation, the place of a message, or the level of a group.",
        example="--config conf/local.yaml --message ID",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    for kind, of in KINDS.items():
        what.add_argument(f"--{kind}", metavar="ID", help=f"the {kind} to explain, by its {of}")
    parser.add_as_of()
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "explain")
    as_of = published_as_of(warehouse, settings, options.as_of)
    found: Explanation
    if options.conversation is not None:
        found = explain_conversation(warehouse, options.conversation, as_of=as_of, catalog=settings.catalog)
    elif options.message is not None:
        honors, catalog = honor_settings(settings.catalog), settings.catalog
        found = explain_message(warehouse, options.message, as_of=as_of, honors=honors, catalog=catalog)
    else:
        found = explain_group(warehouse, options.group, as_of=as_of)
    if options.format == "json":
        print(to_json([asdict(one) for one in found] if isinstance(found, tuple) else asdict(found)))
    else:
        print_explanation(found, as_of, wide=options.wide)
    return 0
