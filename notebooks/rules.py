# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Rules
#
# What does each rule decide, and what is wrong with the rules?

# %%
import os
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd

from pipelines.lint.findings import sort_findings
from pipelines.lint.run import lint_warehouse
from pipelines.questions.coverage import report_coverage
from pipelines.settings.load import load_for_lint
from pipelines.settings.proposal import Proposal
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import published_as_of
from pipelines.storage.tables import open_warehouse
from pipelines.whatif.read import what_if
from pipelines.whatif.report import report_whatif
from pipelines.whatif.view import sentence

SETTINGS = os.environ.get("SETTINGS", "../conf/local.yaml")
settings, warehouse = open_warehouse(SETTINGS)

# %% [markdown]
# ## Coverage
#
# A row for each rule and level, used or not, and one per database for the default of 5. A rule without
# endpoints is unused, or one of its names is misspelt. After a snapshot, endpoints whose level is the
# server's, where no rule gives it today, have a row of their own.

# %%
as_of = published_as_of(warehouse, settings, None)
versions = pd.DataFrame(report_coverage(warehouse, as_of))
without = versions["level"].isna().map({False: "default", True: "no rule, the server's level"})
versions["decided_by"] = versions["rule_name"].fillna(without)
rules = (
    versions.groupby(["instance", "database", "rule_name", "decided_by", "level"], dropna=False)
    .agg({"endpoints": "sum", "open_messages": "sum"})
    .reset_index()
    .sort_values("endpoints", ascending=False, kind="stable")
)
at_level = rules["level"].map(", level {:.0f}".format, na_action="ignore").fillna("")
rules["rule"] = rules["decided_by"] + at_level + " (" + rules["instance"] + "." + rules["database"] + ")"
rules[["rule", "level", "endpoints", "open_messages"]].head(200)

# %%
most = rules.head(25).iloc[::-1]
# The server's levels are several; no colour tells them.
levels = most["level"].fillna(0).astype(int)
figure, axes = plt.subplots(figsize=(9, 0.3 * len(most) + 1.5), layout="constrained")
bars = axes.barh(
    most["rule"],
    most["endpoints"],
    color=[plt.colormaps["viridis_r"]((level - 1) / 9.0) if level else "lightgrey" for level in levels],
    hatch=["//" if is_default else "" for is_default in most["rule_name"].isna()],
    edgecolor="white",
)
axes.bar_label(bars, [f"{count:,}" for count in most["endpoints"]], padding=4, fontsize=8)
axes.set(title="Endpoints by the rule that decided their level (hatched: no rule)", xlabel="endpoints")
axes.margins(x=0.15, y=0.01)
axes.tick_params(axis="y", labelsize=8)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# Never used:

# %%
rules.loc[(rules["endpoints"] == 0) & rules["rule_name"].notna(), ["rule", "level"]]

# %% [markdown]
# ## Lint
#
# The same findings as those of `jobs/lint_rules.py`: what the rules say by themselves and beside the
# catalog, and what shows only in the log. `docs/lint.md` explains every code.

# %%
checked, folded = load_for_lint(SETTINGS)
findings, remarks = lint_warehouse(warehouse, checked, folded, moment=None)
found = pd.DataFrame(
    [
        (str(each.severity), each.code.id, ".".join(each.database_key), each.rule, each.sentence, each.fix)
        for each in sort_findings(findings)
    ],
    columns=["severity", "code", "where", "rule", "finding", "what to do"],
)
pd.set_option("display.max_colwidth", None)
print(*remarks)
found

# %%
found.groupby(["severity", "code"]).size().rename("findings").to_frame()

# %% [markdown]
# ## What if one rule were another?
#
# The rule with the most open messages below level 10, raised to 10 as if it had always been so: who gains,
# and who pays? This orders the backlog as it was, not as it would have become. `jobs/whatif.py` takes any
# rule files; `docs/before-you-change-a-rule.md` goes through one change.

# %%
below = rules[(rules["level"] < 10) & rules["rule_name"].notna()].sort_values(
    ["open_messages", "rule"], ascending=[False, True]
)
raised = [tuple(row) for row in below[["instance", "database", "rule_name"]].head(1).itertuples(index=False)]
history = tuple(
    replace(version, level=10) if (version.instance, version.database, version.name) in raised else version
    for version in settings.rule_history
)
proposal = Proposal(replace(settings, rule_history=history), folded)
with what_if(warehouse, settings, proposal, as_of=as_of, as_if=None) as answer:
    result = report_whatif(answer, limit=10)
    columns = ["instance", "database", "queue", "position_before", "position_after", "moved", "level_before"]
    received = answer.messages.where("kind = 'receive' and moved is not null")
    moves = pd.DataFrame(
        collect_rows(received.orderBy(*columns[:4]).limit(20_000).select(*columns)), columns=columns
    )
print(*[".".join(name) for name in raised], "raised to 10.", sentence(result))

# %%
changes = moves.groupby(columns[:3])["moved"].agg(lambda moved: moved.abs().sum())
queue = changes.idxmax() if len(changes) else None
own = moves[(moves[columns[:3]] == list(queue)).all(axis=1)] if queue else moves
figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
for label, part, color in (
    ("stays", own[own["moved"] == 0], "0.6"),
    ("earlier", own[own["moved"] > 0], "tab:blue"),
    ("later", own[own["moved"] < 0], "tab:orange"),
):
    axes.scatter(
        part["position_before"], part["position_after"], s=9, color=color, label=f"{len(part):,} {label}"
    )
axes.invert_yaxis()
axes.set(
    title=f"Moves in {'.'.join(queue)}" if queue else "Nothing is queued",
    xlabel="position before",
    ylabel="position after",
)
axes.legend()
axes.spines[["top", "right"]].set_visible(False)
plt.show()
