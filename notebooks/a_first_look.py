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
# # A first look
#
# Open the tables of a warehouse, and see who waits: by level, by queue, and for how long.
# `docs/running.md` says what engine this runs on, and the data dictionary (`docs/data-dictionary.md`) what
# the columns mean.

# %%
import os

import matplotlib.pyplot as plt
import pandas as pd
from pyspark.sql import functions as F

from pipelines.questions.open_messages import NAMES, RECEIVE, read_open
from pipelines.questions.waiting import summarize_waits
from pipelines.storage.published import published_as_of
from pipelines.storage.tables import open_warehouse
from pipelines.why.filters import Filters
from pipelines.why.report import report_why
from schemas.keys import QUEUE
from schemas.outputs import RUNS, TRANSMISSION_SCHEDULE

settings, warehouse = open_warehouse(os.environ.get("SETTINGS", "../conf/local.yaml"))

# %% [markdown]
# ## Which nights are there?
#
# A run writes its row in `runs` last, so what is listed here is complete.

# %%
waiting_then = [F.col("reconciliation")[name].alias(name) for name in ("open_receive", "open_transmission")]
runs = warehouse.read(RUNS).where("status = 'succeeded'")
runs.select("as_of", "started_at", *waiting_then).orderBy("as_of").show(truncate=False)

# %% [markdown]
# Everything below is about the one that ran last.

# %%
as_of = published_as_of(warehouse, settings, None)
receive = read_open(warehouse, RECEIVE, as_of)
transmission = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
receive.groupBy("state").count().orderBy("state").show()

# %% [markdown]
# ## Why do they wait?
#
# Of a selection: the queue with the most messages. `docs/why.md` has the causes one by one.

# %%
[longest] = receive.groupBy(*QUEUE).count().orderBy(F.desc("count"), *QUEUE).limit(1).collect()
answer = report_why(
    warehouse,
    settings,
    Filters(queue=longest.queue, instance=longest.instance, database=longest.database),
    as_of=as_of,
    limit=5,
)
for cause in answer["causes"]:
    print(f"{cause['sentence']}.\n  To do: {cause['action']}")

# %% [markdown]
# ## What comes first?
#
# The order in which one reader would receive from the queue with the most messages. A RECEIVE takes messages
# of one group, the one with the highest priority then.

# %%
busiest = receive.groupBy(*QUEUE).count().orderBy(F.desc("count"), *QUEUE).limit(1)
receive.join(F.broadcast(busiest), QUEUE).where("position <= 10").orderBy("position").select(
    "position", "receive_number", "group_priority", "priority", *NAMES, "message_type", "arrived_at"
).show(truncate=False)

# %% [markdown]
# ## Who waits, by level?
#
# Counted by the engine; what comes to this notebook is a row a level. A higher level should wait less.
# Where it does not, its messages stand in queues of their own, or its groups are locked: the levels order
# what is in one queue.

# %%
seconds = (F.unix_micros("as_of") - F.unix_micros("arrived_at")) / 1_000_000
by_level = (
    receive.groupBy("priority")
    .agg(
        F.count_if(F.col("state") == "ready").alias("ready"),
        F.count_if(F.col("state") != "ready").alias("held_back"),
        F.median(seconds / 3600).alias("median_hours"),
        F.percentile(seconds / 3600, 0.95).alias("p95_hours"),
    )
    .orderBy("priority")
    .toPandas()
)
levels = pd.DataFrame(by_level).set_index("priority").reindex(range(1, 11))
levels.dropna()

# %%
figure, (depth, wait) = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
depth.barh(levels.index, levels["ready"], color="#0b57b0", label="ready")
depth.barh(
    levels.index,
    levels["held_back"],
    left=levels["ready"],
    color="#f2a93b",
    hatch="//",
    label="held back: group locked, or queue off",
)
depth.set(title="Ready messages by level", xlabel="messages", ylabel="level", yticks=range(1, 11))
depth.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
wait.hlines(levels.index, levels["median_hours"], levels["p95_hours"], color="#9aa5b1", linewidth=2)
wait.plot(levels["median_hours"], levels.index, "o", color="#0b57b0", label="median")
wait.plot(levels["p95_hours"], levels.index, "D", color="#b3261e", label="95% wait less")
wait.set(title="How long they have waited", xlabel="hours", xlim=(0, None))
wait.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
for axes in (depth, wait):
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis="x", alpha=0.3)
plt.show()

# %% [markdown]
# ## Who waits, by contract and services?
#
# Contract and services are those of the endpoint that receives. `jobs/waiting.py --by` counts by any columns.

# %%
kinds = summarize_waits(receive, within=NAMES, as_of=as_of)
kinds.orderBy(F.desc("messages"), *NAMES).show(10, truncate=False)

# %% [markdown]
# ## Who waits, by queue?
#
# `summarize_waits` is the function behind `jobs/waiting.py`. The fifteen queues with the most messages; the
# shade is the number that stands in the cell.

# %%
waits = summarize_waits(receive, within=(*QUEUE, "priority"), as_of=as_of)
waits.orderBy(F.desc("p95_seconds"), *QUEUE, "priority").show(5, truncate=False)
cells = pd.DataFrame(waits.select(*QUEUE, "priority", "messages").toPandas())
cells["place"] = cells["queue"] + "\n" + cells["instance"] + "." + cells["database"]
grid = cells.pivot_table(index="place", columns="priority", values="messages", aggfunc="sum", fill_value=0)
grid = grid.reindex(columns=range(1, 11), fill_value=0)
grid = grid.loc[grid.sum(axis=1).sort_values(ascending=False, kind="stable").index[:15]]

# %%
figure, axes = plt.subplots(figsize=(9, 0.4 * len(grid) + 1.5), layout="constrained")
axes.imshow(grid.to_numpy() ** 0.5, cmap="Blues", aspect="auto", vmax=1.6 * grid.to_numpy().max() ** 0.5)
axes.set_xticks(range(10), range(1, 11))
axes.set_yticks(range(len(grid)), grid.index, fontsize=8)
axes.set(title="Ready messages by queue and level", xlabel="level of the receiving endpoint")
for row, column in zip(*grid.to_numpy().nonzero(), strict=True):
    axes.text(column, row, f"{grid.iat[row, column]:,}", ha="center", va="center", fontsize=8)
axes.tick_params(length=0)
axes.spines[:].set_visible(False)
plt.show()

# %% [markdown]
# ## And what waits to be sent?

# %%
transmission.groupBy("instance", "transmit_priority").agg(
    F.count(F.lit(1)).alias("messages"), F.min("sendable_at").alias("oldest")
).orderBy("instance", F.desc("transmit_priority")).show()
