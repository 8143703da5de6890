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
# # What readers did
#
# Did the readers of a queue keep to the levels, and what would more of them do? The first question is that of
# `jobs/conformance.py`, the second that of `jobs/replay.py`; `docs/conformance.md` and `docs/replay.md` say
# what the words mean.

# %%
import os
from dataclasses import replace
from datetime import timedelta
from tempfile import TemporaryDirectory

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import pandas as pd
from pyspark.sql import functions as F

from pipelines.conformance.read import request_at
from pipelines.conformance.receives import receives_at
from pipelines.conformance.view import CLASSES
from pipelines.replay.read import open_replay
from pipelines.replay.report import report_replay
from pipelines.replay.request import Period, ReplayRequest
from pipelines.replay.view import sentence
from pipelines.report.replay import read_replay_tables
from pipelines.settings.load import load_for_lint
from pipelines.settings.proposal import Proposal
from pipelines.storage.answers import answers_in, write_answers
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import published_as_of
from pipelines.storage.tables import open_warehouse
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.replay import REPLAY_TABLES

SETTINGS = os.environ.get("SETTINGS", "../conf/local.yaml")
settings, warehouse = open_warehouse(SETTINGS)
as_of = published_as_of(warehouse, settings, None)

# %% [markdown]
# ## Which readers keep to the levels?
#
# A fitness of 1 keeps to the levels. A skill of 0 does not look at them. Beside a queue that is far from 1
# stands what to look at first: its readers, and not its rules.

# %%
with warehouse.materializing() as materialize:
    asked = request_at(warehouse, settings, as_of=as_of, window=None, materialize=materialize)
    frames = receives_at(asked, tolerance=timedelta(milliseconds=10), materialize=materialize)
    queues, hours, deviations = (
        pd.DataFrame(collect_rows(frame), columns=frame.columns).drop(columns="as_of") for frame in frames
    )
queues = queues.sort_values("with_choice", ascending=False)
queues.loc[queues["with_choice"] > 0, [*QUEUE, "decisions", "with_choice", "passed", "fitness", "skill"]]

# %% [markdown]
# Everything below is about the queue whose readers keep to them best, of those with a hundred choices. Put
# your own here.

# %%
often = queues[queues["with_choice"] >= min(100, queues["with_choice"].max())]
queue = tuple(often.sort_values("skill", ascending=False, kind="stable")[list(QUEUE)].iloc[0])


def of_queue(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows[list(QUEUE)] == list(queue)).all(axis=1)].drop(columns=list(QUEUE))


print("The queue is", ".".join(queue))
by_hour = of_queue(hours).sort_values("hour").set_index("hour")
by_hour

# %% [markdown]
# ## Which receives passed a group of a higher level, and why?
#
# One of each class: the first. The witness is the message that a reader who keeps to the levels would have
# taken; `jobs/explain.py --message` says more of it.

# %%
passed = of_queue(deviations).sort_values("at")
witnesses = passed.groupby("class", sort=False).agg(
    receives=("at", "size"),
    first=("at", "first"),
    level=("level", "first"),
    best_level=("best_level", "first"),
    witness=("witness_message_id", "first"),
)
witnesses["why"] = witnesses.index.map(CLASSES)
witnesses

# %% [markdown]
# ## What would more readers do?
#
# The hours in which the readers received are played again: with the readers of the log, and with one to four.
# Then once more with another rule: the one that gives most conversations of this queue the lowest level,
# raised to 10 as if it had always been so.

# %%
period = Period(by_hour.index.min(), min(by_hour.index.max() + pd.Timedelta(hours=1), as_of))
here = warehouse.read(ENDPOINTS).where(F.col("rule_name").isNotNull())
for name, value in zip(QUEUE, queue, strict=True):
    here = here.where(F.col(name) == F.lit(value))
given = pd.DataFrame(
    collect_rows(
        here.groupBy("rule_name", "priority").count().orderBy("priority", F.desc("count"), "rule_name")
    ),
    columns=["rule_name", "priority", "count"],
)
lowest = tuple(given["rule_name"].head(1))
history = tuple(
    replace(version, level=10)
    if (version.instance, version.database) == queue[:2] and version.name in lowest
    else version
    for version in settings.rule_history
)
_, folded = load_for_lint(SETTINGS)
asked = ReplayRequest(
    period,
    queues=[".".join(queue)],
    proposal=Proposal(replace(settings, rule_history=history), folded),
    curve=range(1, 5),
)
with (
    open_replay(warehouse, settings, asked) as answer,
    TemporaryDirectory() as folder,
):
    result = report_replay(answer, asked, limit=20)
    # The page's shapes are made of the tables of an answer. Here messages keep their recorded level in both
    # scenarios, so that a line before and a line after are the same messages.
    recorded = answer.messages.where("scenario = 'actual'").select("message_id", "level")
    frames = answer.by_name() | {
        "replay_messages": answer.messages.drop("level").join(recorded, "message_id")
    }
    answers = answers_in(warehouse, folder)
    write_answers(answers, REPLAY_TABLES, frames)
    parts = read_replay_tables(answers)
print(*lowest, "raised to 10.", sentence(result))
curve = pd.DataFrame(result["curve"])
curve[["scenario", "readers", "served", "wait_p95", "at_least", "utilisation", "calibrated"]]

# %% [markdown]
# ## Who waits how long, before and after?
#
# On the left, which share of a level's messages a reader had taken after so long. On the right, how many
# messages waited. Other rules change who waits. How many wait is for more readers to change.

# %%
shares, lengths = (
    pd.DataFrame(parts[name].rows, columns=parts[name].columns)
    for name in ("replay_shares", "replay_lengths")
)
styles = {"actual": "-", "proposed": "--"}
levels = sorted(shares["level"].unique(), reverse=True)
colors = {level: plt.colormaps["plasma"](at / len(levels)) for at, level in enumerate(levels)}
figure, (waits, length) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for (level, scenario), rows in shares.groupby(["level", "scenario"], sort=False):
    waits.plot(
        rows["seconds"].clip(lower=1),
        rows["share"],
        styles[scenario],
        color=colors[level],
        drawstyle="steps-post",
        label=f"level {level}, {scenario}",
    )
waits.set(
    title="Which share had been taken after how long",
    xlabel="seconds; what took less stands at 1",
    ylabel="share of the level's messages",
    xscale="log",
    ylim=(0, 1.02),
)
waits.xaxis.set_major_formatter("{x:,.0f}")
for scenario, rows in lengths.groupby("scenario"):
    length.plot(rows["moment"], rows["waiting"], styles[scenario], color="0.25", label=scenario)
length.xaxis.set_major_formatter(mdates.ConciseDateFormatter(length.xaxis.get_major_locator()))
length.set(title="How many messages waited", xlabel="UTC", ylabel="messages", ylim=(0, None))
for axes in (waits, length):
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
plt.show()
