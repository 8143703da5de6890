"""Write findings as SARIF 2.1.0, which code hosts and editors read."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from pipelines.lint.findings import Finding, FindingCode

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_CODES = list(FindingCode)


def sarif(findings: Iterable[Finding], *, version: str, settings_file: str) -> dict[str, Any]:
    """Return a SARIF log with one run, as plain values for JSON.

    Args:
        findings: in the order of the log; their files are relative to where the log is
            read, which is the root of the checkout.
        version: of this program.
        settings_file: the file of findings without a location; relative as well.
    """
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "conversation-priorities",
                        "semanticVersion": version,
                        "rules": [_rule(code) for code in _CODES],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, settings_file) for finding in findings],
            }
        ],
    }


def _rule(code: FindingCode) -> dict[str, Any]:
    return {
        "id": code.id,
        "name": code.name.title().replace("_", ""),
        "shortDescription": {"text": code.meaning},
        "defaultConfiguration": {"level": str(code.severity)},
    }


def _result(finding: Finding, settings_file: str) -> dict[str, Any]:
    location = finding.location
    physical_location: dict[str, Any] = {
        "artifactLocation": {
            "uri": quote(location.file if location else settings_file),
            "uriBaseId": "%SRCROOT%",
        }
    }
    if location:
        physical_location["region"] = {"startLine": location.line, "startColumn": location.column}
    instance, database = finding.database_key
    return {
        "ruleId": finding.code.id,
        "ruleIndex": _CODES.index(finding.code),
        "level": str(finding.severity),
        "message": {"text": f"{finding.sentence}. Fix: {finding.fix}"},
        "locations": [{"physicalLocation": physical_location}],
        "properties": {"instance": instance, "database": database, "rule": finding.rule},
    }
