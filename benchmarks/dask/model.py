"""The model of a network, and the report of the simulator: what a counted run would take on so many workers.

    seconds = CPU seconds of all partitions / workers + CPU seconds of the client + messages
    messages of a round, summed in a tree    2 L latency + L (down + up) / bandwidth,   L = ceil(log2 machines)
    messages of a round, through the client  2 latency + workers (down + up) / bandwidth

`down` and `up` are the bytes of one message to a worker and from it. Through the client is how ClusterRows does it now:
the client writes to every worker and adds up their sums. A worker is one core. Adding up in the tree is neglected: it
takes less time than receiving.
"""

from __future__ import annotations

from math import ceil, log2
from pathlib import Path
from typing import NamedTuple

import numpy as np
from report import heading, publish, table

LEVELS = (1e-2, 1e-3, 1e-4)
SHOWN = 1e-3  # the gap of the modelled seconds
ROWS, FEATURES, VALUES = 4.0e9, 1.0e6, 39.0  # Criteo's terabyte of click logs, hashed to a million features
TERABYTE_MACHINES = (16, 64, 256)
SNAP_SECONDS = 91.5  # Snap ML's published time on 16 GPUs (Dünner et al., 2018)
ABOUT = """\
Counted: rounds, and the bytes of their messages. Measured: CPU seconds, on one core of this machine. Modelled: the
network, {latency:g} ms for a message and {gigabits:g} Gbit/s; seconds are the sum of {sum}. A worker is one core with
its own partition and its own network; `tree` sums in ceil(log2 workers) levels, `client` writes to every worker and
adds up by itself, as this version does. Training was stopped at a certified gap of {tol:g}; it began on a sample of
1 % of the rows. The runs are kept in a file, and may have been made in parts by other commands: {dates}.
"""


class Machines(NamedTuple):
    """The network and the machines of the model: seconds, bytes a second, cores of a machine."""

    latency: float
    bandwidth: float
    cores: int


def at_gap(run: dict, level: float) -> list[float] | None:
    """Return the line of history at which a gap was first certified."""
    return next((line for line in run["history"] if line[0] <= level), None)


def in_a_tree(line: list[float], workers: int, machines: Machines) -> float:
    """Return the modelled seconds of a run, summed in a tree."""
    _, rounds, down, up, work, alone = line
    levels = ceil(log2(workers))
    messages = 2 * rounds * levels * machines.latency + levels * (down + up) / machines.bandwidth
    return work / workers + alone + messages


def through_client(line: list[float], workers: int, machines: Machines) -> float:
    """Return the modelled seconds of a run whose messages all pass through the client."""
    _, rounds, down, up, work, alone = line
    return work / workers + alone + 2 * rounds * machines.latency + workers * (down + up) / machines.bandwidth


def report(runs: list[dict], machines: Machines, command: str, written: str) -> None:
    runs = sorted(runs, key=lambda run: (run["data"], run["loss"], run["workers"]))
    about = ABOUT.format(
        latency=1e3 * machines.latency, gigabits=machines.bandwidth * 8e-9, tol=LEVELS[-1],
        dates=" to ".join(sorted({run["date"] for run in runs})[:: max(len({run["date"] for run in runs}) - 1, 1)]),
        sum="the rows' work over the workers, the client's own work and the messages",
    )  # fmt: skip
    text = "\n".join(
        [heading("Scale on paper", command), about, rounds_table(runs, machines), terabyte(runs, machines)]
    )
    publish(text, written)


def rounds_table(runs: list[dict], machines: Machines) -> str:
    columns = [
        "data", "loss", "workers", "solver", *(f"rounds to {level:g}" for level in LEVELS), "kB down", "kB up",
        "rows, CPU s", "client, CPU s", f"tree, s to {SHOWN:g}", f"client, s to {SHOWN:g}", "status",
    ]  # fmt: skip
    rows = [[run["data"], run["loss"], str(run["workers"]), run["solver"], *cells(run, machines)] for run in runs]
    return "## Rounds against workers\n\n" + table(columns, rows)


def cells(run: dict, machines: Machines) -> list[str]:
    at = [at_gap(run, level) for level in LEVELS]
    rounds = ["–" if line is None else f"{line[1]:.0f}" for line in at]
    line = at_gap(run, SHOWN)
    if line is None:
        return [*rounds, *["–"] * 6, run["status"]]
    _, count, down, up, work, alone = line
    seconds = [model(line, run["workers"], machines) for model in (in_a_tree, through_client)]
    return [
        *rounds, f"{down / count / 1e3:.3g}", f"{up / count / 1e3:.3g}", f"{work:.2f}", f"{alone:.2f}",
        *(f"{one:.2f}" for one in seconds), run["status"],
    ]  # fmt: skip


def terabyte(runs: list[dict], machines: Machines) -> str:
    """Return what a terabyte would take, from the counted runs of logistic regression on rows of a million features."""
    every = [run for run in runs if run["d"] == FEATURES and run["loss"] == "logistic" and run["history"]]
    wide = [run for run in every if run["workers"] == min(one["workers"] for one in every)]
    wide.sort(key=lambda run: run["n"])
    reached = [line[1] for run in wide if (line := at_gap(run, SHOWN))]
    if not reached:
        return ""
    lines = [run["history"][-1] for run in wide]
    fixed, speed = speeds(wide, lines)
    rounds = max(reached)
    message, alone = (max(sum(line[k] for k in ks) / line[1] for line in lines) for ks in ((2, 3), (5,)))
    rows = []
    for count in TERABYTE_MACHINES:
        local = ROWS * VALUES * speed / (count * machines.cores) + fixed
        levels = ceil(log2(count))
        network = 2 * levels * machines.latency + levels * message / machines.bandwidth
        shares = [f"{one:.2f}" for one in (local, network, alone)]
        total = local + network + alone
        rows.append([str(count), *shares, f"{SNAP_SECONDS / total:.0f}", f"{rounds * total:.0f}"])
    return terabyte_text(wide, fixed, speed, machines) + table(TERABYTE_HEADS, rows)


TERABYTE_HEADS = [
    "machines", "rows, s a round", "network, s a round", "client, s a round", f"rounds in {SNAP_SECONDS:.0f} s",
    "seconds of the most rounds counted",
]  # fmt: skip


def speeds(runs: list[dict], lines: list[list[float]]) -> tuple[float, float]:
    """Return CPU seconds of a partition and of a value in one round, by least squares over runs of several sizes."""
    work = np.array([line[4] / line[1] for line in lines])
    sizes = np.array([[run["workers"], run["nnz"]] for run in runs], dtype=float)
    if len(runs) < 2:
        return 0.0, float(work[0] / sizes[0, 1])
    scale = sizes.max(axis=0)
    fixed, speed = np.linalg.lstsq(sizes / scale, work, rcond=None)[0] / scale
    return max(float(fixed), 0.0), float(speed)


def terabyte_text(runs: list[dict], fixed: float, speed: float, machines: Machines) -> str:
    counted = "; ".join(f"{run['n']:,} rows: {rounds_of(run)}" for run in runs)
    return (
        f"\n## One terabyte\n\nLogistic regression, {ROWS:.0e} rows, {FEATURES:.0e} features, {VALUES:g} values a row: "
        f"modelled.\nRounds to {SHOWN:g}, counted on generated rows with {runs[0]['workers']} workers: {counted}.\n"
        "They grow with the rows: a terabyte will need more than the most counted here.\n"
        f"A round takes {1e9 * speed:.2f} ns for a value and {1e3 * fixed:.0f} ms for a partition, by least squares "
        f"over these runs.\n{machines.cores} cores a machine, one partition each, summed in a tree over machines.\n\n"
    )


def rounds_of(run: dict) -> str:
    line = at_gap(run, SHOWN)
    return f"not within the time limit, {run['rounds']} rounds" if line is None else f"{line[1]:.0f}"


def draw(runs: list[dict], machines: Machines, picture: Path) -> None:
    """Draw rounds and modelled seconds against workers, a panel for each loss."""
    import matplotlib.pyplot as plt
    from panels import save

    losses = list(dict.fromkeys(run["loss"] for run in runs))
    names = list(dict.fromkeys(run["data"] for run in runs))
    figure, axes = plt.subplots(2, len(losses), figsize=(4.3 * len(losses), 6.8), squeeze=False)
    for column, loss in enumerate(losses):
        for place, name in enumerate(names):
            found = [(run["workers"], run, line) for run in runs if (line := line_of(run, name, loss)) is not None]
            found.sort(key=lambda one: one[0])
            workers = np.array([one[0] for one in found])
            if len(found) < 2:
                continue
            how = {"color": f"C{place}", "marker": "o", "markersize": 3, "label": name}
            axes[0, column].loglog(workers, [line[1] for _, _, line in found], **how)
            axes[1, column].loglog(workers, [in_a_tree(line, k, machines) for k, _, line in found], **how)
        axes[0, column].set_title(f"{loss}: rounds to {SHOWN:g}", fontsize=10)
        axes[1, column].set_title(f"{loss}: modelled seconds", fontsize=10)
    for line, limits in zip(axes, ((1.0, 1e3), (1e-2, 1e2)), strict=True):
        for axis in line:
            axis.set_ylim(*limits)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.tick_params(labelsize=8)
    save(figure, axes, "workers", "", picture)


def line_of(run: dict, name: str, loss: str) -> list[float] | None:
    return at_gap(run, SHOWN) if (run["data"], run["loss"]) == (name, loss) else None
