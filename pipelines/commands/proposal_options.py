"""The options that say what is proposed: those of what-if and replay."""

import logging
from argparse import Namespace
from datetime import datetime

from pipelines.commands.options import Parser, StoreOnce, instant
from pipelines.config.errors import ConfigError
from pipelines.console.wording import format_count
from pipelines.settings.load import Settings
from pipelines.settings.proposal import Proposal, read_changes, read_replacement
from pipelines.settings.proposed_settings import read_proposed_settings

log = logging.getLogger(__name__)

ALWAYS = "always"


def add_proposal_options(parser: Parser, *, required: bool) -> None:
    """Add --change, --rules and --proposed, of which one may be given, and --as-if."""
    what = parser.add_mutually_exclusive_group(required=required)
    what.add_argument(
        "--change",
        nargs="+",
        action="extend",
        metavar="[INSTANCE=]FILE",
        help="rule files whose statements come after all that stand, as a script that is deployed; a script "
        "is for INSTANCE, else for the only one",
    )
    what.add_argument(
        "--rules",
        nargs="+",
        action="extend",
        metavar="[INSTANCE=]FILE",
        help="rule files in place of the settings'",
    )
    what.add_argument(
        "--proposed",
        action=StoreOnce,
        metavar="SETTINGS",
        help="settings with other rules, honor flags, TOP, starvation, blocks",
    )
    parser.add_argument(
        "--as-if",
        type=_moment,
        default=ALWAYS,
        metavar="always|INSTANT",
        help="since when the proposed rules stand (default always)",
    )


def read_proposal(settings: Settings, options: Namespace) -> Proposal | None:
    """Read what the options propose, and warn if it replaces the rules that stand; None without a proposal.

    Raises:
        ConfigError: a file is wrong, or --as-if stands alone.
    """
    if options.change:
        proposal = read_changes(settings, options.change)
        _warn_ignored(proposal)
        return proposal
    if options.rules:
        proposal = read_replacement(settings, options.rules)
        _warn_replaced("--rules", proposal)
        _warn_ignored(proposal)
        return proposal
    if options.proposed:
        proposal = read_proposed_settings(settings, options.proposed)
        _warn_replaced("--proposed", proposal)
        return proposal
    if options.as_if != ALWAYS:
        raise ConfigError(
            "command line: --as-if says since when --rules or --proposed stand or --change counts; name one"
        )
    return None


def as_if_of(options: Namespace) -> datetime | None:
    """The instant of --as-if; None for always."""
    return None if options.as_if == ALWAYS else options.as_if


def warn_of_unread(proposal: Proposal) -> None:
    """Warn of what does not count in the files of a proposal, for a job that lints no rules."""
    for note in proposal.notes():
        log.warning("%s", note)


def _warn_ignored(proposal: Proposal) -> None:
    for line in proposal.ignored_settings():
        log.warning("%s", line)


def _warn_replaced(option: str, proposal: Proposal) -> None:
    log.warning(
        "%s replaces %s that stand now; %s afterwards; to lay statements over the rules that stand, take "
        "--change",
        option,
        format_count(proposal.replaced or 0, "rule"),
        "1 rule stands" if proposal.rules() == 1 else f"{format_count(proposal.rules(), 'rule')} stand",
    )


def _moment(text: str) -> str | datetime:
    return text if text == ALWAYS else instant(text)
