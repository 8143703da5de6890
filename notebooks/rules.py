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

import matplotlib.pyplot as plt
import pandas as pd

from config.load import load_for_lint
from insight.coverage import coverage
from insight.findings import in_order
from insight.lint import lint_warehouse
from storage.published import published_as_of
from storage.tables import open_warehouse

SETTINGS = os.environ.get("SETTINGS", "../conf/local.yaml")
settings, warehouse = open_warehouse(SETTINGS)

# %% [markdown]
# ## Coverage
#
# A row for each rule, used or not, and one per database for the default of 5. A rule without endpoints is
# unused, or one of its names is misspelt.

# %%
as_of = published_as_of(warehouse, settings, None)
# In the order of their versions, so that a rule's last level is that of its newest version.
versions = pd.DataFrame(coverage(warehouse, as_of))
rules = (
    versions.groupby(["instance", "database", "rule_name"], dropna=False)
    .agg({"level": "last", "endpoints": "sum", "open_messages": "sum"})
    .reset_index()
    .sort_values("endpoints", ascending=False, kind="stable")
)
rules["rule"] = (
    rules["rule_name"].fillna("default") + " (" + rules["instance"] + "." + rules["database"] + ")"
)
rules[["rule", "level", "endpoints", "open_messages"]].head(200)

# %%
most = rules.head(25).iloc[::-1]
levels = most["level"].fillna(5).astype(int)
figure, axes = plt.subplots(figsize=(9, 0.3 * len(most) + 1.5), layout="constrained")
bars = axes.barh(
    most["rule"],
    most["endpoints"],
    color=plt.colormaps["viridis_r"]((levels - 1) / 9.0),
    hatch=["//" if is_default else "" for is_default in most["rule_name"].isna()],
    edgecolor="white",
)
axes.bar_label(
    bars,
    [f"{count:,}, level {level}" for count, level in zip(most["endpoints"], levels, strict=True)],
    padding=4,
    fontsize=8,
)
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
        (str(each.severity), each.code.id, ".".join(each.place), each.rule, each.sentence, each.fix)
        for each in in_order(findings)
    ],
    columns=["severity", "code", "where", "rule", "finding", "what to do"],
)
pd.set_option("display.max_colwidth", None)
print(*remarks)
found

# %%
found.groupby(["severity", "code"]).size().rename("findings").to_frame()
