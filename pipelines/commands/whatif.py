"""Say what other rules would change in the backlog of an as_of: who gains, who pays, by how much.

priorities whatif --config conf/local.yaml --as-of 2026-11-21T00:00:00Z \
  --change ERP1=samples/proposal/silver-first.sql
"""

from collections.abc import Sequence

from pipelines.commands.open import warehouse_of
from pipelines.commands.options import Parser
from pipelines.commands.out import require_own_folder
from pipelines.commands.proposal_options import add_proposal_options, as_if_of, read_proposal
from pipelines.config.errors import ConfigError
from pipelines.console.terminal import to_json
from pipelines.engine.frames import small_frame
from pipelines.lint.findings import sort_findings
from pipelines.lint.run import lint_files
from pipelines.lint.view import plain, relative
from pipelines.settings.load import KNOWN_ONLY, load_settings
from pipelines.storage.answers import answers_in, write_answers
from pipelines.storage.published import batches_since, published_as_of
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.answers import answers_frame
from pipelines.whatif.read import what_if
from pipelines.whatif.report import report_whatif
from pipelines.whatif.request import BASELINES, RECORDED, TODAY
from pipelines.whatif.view import print_whatif, sentence
from schemas.whatif import WHATIF_ANSWERS, WHATIF_AS_OF, WHATIF_TABLES

LIMIT = 20


def main(argv: Sequence[str]) -> int:
    """Parse the command line, answer, and write the tables where --out says; the warehouse stays as it is."""
    parser = Parser(
        "whatif",
        "Say what other rules would change in the backlog of an as_of. Nothing is changed by asking.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z "
        "--change ERP1=samples/proposal/silver-first.sql",
    )
    parser.add_as_of()
    add_proposal_options(parser, required=True)
    parser.add_argument(
        "--baseline",
        choices=BASELINES,
        help="compare with the levels by today's rules, or with those that endpoints have (default today, "
        "with --as-if INSTANT recorded)",
    )
    parser.add_out()
    parser.add_limit(LIMIT, "rows of each part")
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    as_if = as_if_of(options)
    if as_if is not None and options.baseline == TODAY:
        raise ConfigError(
            "command line: --baseline today is for rules that always stood; leave it out, or --as-if"
        )
    baseline = options.baseline or (TODAY if as_if is None else RECORDED)
    settings = load_settings(options.config, KNOWN_ONLY)
    require_own_folder(options.out, settings)
    proposal = read_proposal(settings, options)
    assert proposal is not None
    findings = sort_findings(lint_files(proposal.settings, proposal.folded, moment=None))
    warehouse = warehouse_of(settings, "whatif")
    answers = answers_in(warehouse, options.out) if options.out else None
    as_of = published_as_of(warehouse, settings, options.as_of)
    with what_if(warehouse, settings, proposal, as_of=as_of, as_if=as_if, baseline=baseline) as answer:
        if answers:
            # An answer that is broken off does not say that its tables are whole.
            if answers.exists(WHATIF_AS_OF):
                _say_as_of(answers)
            write_answers(answers, WHATIF_TABLES, answer.by_name())
            answers.replace(WHATIF_ANSWERS, answers_frame(answers.spark, answer.answers, as_if))
            _say_as_of(answers, [as_of, baseline])
        report = {"as_of": as_of, "as_if": options.as_if, "baseline": baseline}
        report |= {**report_whatif(answer, limit=options.limit)}
        if proposal.replaced is not None:
            report["replaced_rules"] = proposal.replaced
    report["batches_since"] = batches_since(warehouse, as_of)
    findings = [relative(finding) for finding in findings]
    if options.format == "json":
        found = [plain(finding) for finding in findings]
        print(to_json({"sentence": sentence(report), "findings": found, **report}))
    else:
        print_whatif(report, findings, wide=options.wide)
    return 0


def _say_as_of(answers: Warehouse, *rows: Sequence[object]) -> None:
    answers.replace(WHATIF_AS_OF, small_frame(answers.spark, rows, WHATIF_AS_OF.struct))
