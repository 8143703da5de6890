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
# # Why this order?
#
# Take one message and ask: where does it stand, what goes before it, and which rule gave its conversation
# that level? `jobs/explain.py` prints the same; here the explanation is values to work with.

# %%
import os

import matplotlib.pyplot as plt
import pandas as pd
from pyspark.sql import functions as F

from pipelines.explain.explanations import explain_message
from pipelines.questions.open_messages import NAMES, RECEIVE, read_open
from pipelines.questions.overtaken import rank_overtaken
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import published_as_of
from pipelines.storage.tables import open_warehouse
from schemas.keys import QUEUE

settings, warehouse = open_warehouse(os.environ.get("SETTINGS", "../conf/local.yaml"))
as_of = published_as_of(warehouse, settings, None)
as_of

# %% [markdown]
# ## A message that has reason to complain
#
# The one that most later messages are received before. Put the id of your own here.

# %%
receive = read_open(warehouse, RECEIVE, as_of)
late = rank_overtaken(receive, within=QUEUE, most=1, also=NAMES)
found = collect_rows(late.orderBy(F.desc("passed_by"), *QUEUE).limit(1)) or collect_rows(
    receive.where("position = 1").orderBy(*QUEUE).limit(1)
)
message_id = found[0]["message_id"]
found[0]

# %%
message = explain_message(warehouse, message_id, as_of=as_of, honors=settings.catalog.honors())
print(message.state)
print(message.receive)

# %% [markdown]
# ## What goes before it
#
# By the level of the group at the RECEIVE that takes them.

# %%
ahead = {each.level: each.count for each in message.receive.ahead}
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.barh(list(ahead), list(ahead.values()), color="#0b57b0")
for level, count in ahead.items():
    axes.annotate(
        f"{count:,}",
        (count, level),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )
axes.axhline(message.receive.group_priority, color="#b3261e", linestyle="--", linewidth=1, zorder=0)
axes.annotate(
    f"its own group: level {message.receive.group_priority}",
    (1, message.receive.group_priority),
    xycoords=("axes fraction", "data"),
    xytext=(0, 4),
    textcoords="offset points",
    ha="right",
    color="#b3261e",
)
axes.set(
    title=f"Messages received before it in {message.receive.queue}",
    xlabel="messages",
    ylabel="level of the group",
    yticks=range(1, 11),
    ylim=(0.4, 10.6),
)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# ## The group
#
# A RECEIVE chooses a group, not a message. The group has the highest level among its conversations with
# ready messages.

# %%
pd.DataFrame(message.group.listed)

# %% [markdown]
# ## The level of its conversation
#
# Each endpoint has a level of its own, found by the eight steps of the ladder when it was created. The one
# that receives decides here; the other one decides the order of transmission.

# %%
for endpoint in message.endpoints:
    side = "initiator" if endpoint.is_initiator else "target"
    given = endpoint.given
    why = f"rule {given.rule_name!r}, step {given.ladder_step}" if given.rule_name else "no rule: the default"
    print(f"{side} in {endpoint.instance}.{endpoint.database}: level {given.level} ({why})")

# %%
receiver = next(each for each in message.endpoints if each.is_initiator != message.sent_by_initiator)
pd.DataFrame(
    {
        "contract": step.contract or "ANY",
        "local service": step.local_service or "ANY",
        "remote service": step.remote_service or "ANY",
        "rule": step.rule.rule_name if step.rule else "",
        "level": step.rule.level if step.rule else "",
        "decides": "yes" if step.decides else "",
        "almost": ", ".join(
            f"{miss.rule_name}: {miss.criterion} {miss.asks_for}" for miss in step.near_misses
        ),
    }
    for step in receiver.steps
)
