"""Explain the priority of a conversation, the place of a message, or the level of a group."""

from dataclasses import asdict, replace
from typing import Any

from pipelines.commands.options import Parser
from pipelines.commands.question import Asked, Question
from pipelines.explain.explanations import (
    explain_conversation,
    explain_group,
    explain_message,
)
from pipelines.explain.view import Explanation, print_explanation
from pipelines.why.report import conversation_findings

KINDS = {
    "conversation": "conversation_id or a conversation_handle; GUIDs in any spelling",
    "message": "message_id",
    "group": "conversation_group_id",
}


def _options(parser: Parser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    for kind, of in KINDS.items():
        what.add_argument(f"--{kind}", metavar="ID", help=f"the {kind} to explain, by its {of}")


def _answer(asked: Asked) -> Explanation:
    options, catalog, as_of = asked.options, asked.settings.catalog, asked.as_of
    known = asked.settings.known_rules()
    if options.conversation is not None:
        found = explain_conversation(
            asked.warehouse, options.conversation, as_of=as_of, catalog=catalog, known_rules=known
        )
        findings = conversation_findings(asked.warehouse, asked.settings, found.conversation_id, as_of)
        return replace(found, findings=findings)
    if options.message is not None:
        return explain_message(
            asked.warehouse,
            options.message,
            as_of=as_of,
            honors=catalog.honors(),
            catalog=catalog,
            known_rules=known,
        )
    return explain_group(asked.warehouse, options.group, as_of=as_of)


def _plain(found: Any, _: Asked) -> Any:
    return [asdict(each) for each in found] if isinstance(found, tuple) else asdict(found)


main = Question(
    "explain",
    "Explain the priority of a conversation, the place of a message, or the level of a group.",
    example="--config conf/local.yaml --message ID",
    options=_options,
    has_wide=True,
    answer=_answer,
    plain=_plain,
    show=lambda found, asked: print_explanation(found, asked.as_of, wide=asked.options.wide),
)
