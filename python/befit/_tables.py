"""Results as tables of pandas."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from befit import _befit
from befit._befit import Machine, Recording

if TYPE_CHECKING:
    import pandas as pd


def compare(
    recording: Recording,
    machines: str | Machine | Sequence[str | Machine] = "xeon-7560",
    schedulers: str | Sequence[str] = ("ws", "pws", "sb", "sb-d"),
    *,
    seeds: int | None = None,
    sample: int | str = "auto",
    **options: float | str,
) -> "pd.DataFrame":
    """Simulates `recording` on each machine under each scheduler, on all cores.

    A row is one machine and scheduler; its columns are those of `befit compare --format csv`
    (docs/json.md): `time_cycles.median` in cycles of the machine's fastest core,
    `misses.L3.median` in cache lines, `ratio.estimate` and its 95 % interval against the first
    scheduler. Without `seeds`, 3 to 20 seeds are taken, until that interval is narrow. `sample`
    is that of `befit compare --sample`: each seed simulates one cache line in so many, a power of
    two up to 64; `"off"` simulates all lines, `"auto"` all of a small program. `options` are
    those of the schedulers: `sigma`, `mu`, `counting`, `nearness`, `branching`, `boundary`.

    Raises `ValueError` for a machine, scheduler or option that does not exist, and `BefitError`
    when a simulation fails.
    """
    # Not above: a worker of a sweep needs no tables, and waits a second for the import.
    import pandas as pd

    if isinstance(machines, str | Machine):
        machines = [machines]
    if isinstance(schedulers, str):
        schedulers = [schedulers]
    if not machines or not schedulers:
        raise ValueError("a comparison needs a machine and a scheduler")
    text = _befit.compare_json(
        recording, list(machines), list(schedulers), seeds, str(sample), **options
    )
    results: list[dict[str, Any]] = json.loads(text)
    # A machine has dozens of caches, each of which would be ten columns.
    return pd.json_normalize([result | {"caches": None} for result in results]).drop(
        columns="caches"
    )


def sizes(
    recording: Recording,
    machine: str | Machine = "xeon-7560",
    *,
    sigma: float | None = None,
    worst: int = 10,
) -> dict[str, Any]:
    """Compares the sizes that tasks declare with what they touch.

    Returns the document `befit.sizes` of docs/json.md: counts of tasks, sizes in bytes, and the
    `worst` tasks of either kind. `sigma` is the dilation, above 0 and at most 1. Raises
    `ValueError` for a machine or sigma that cannot be.
    """
    document: dict[str, Any] = json.loads(
        _befit.sizes_json(recording, machine, sigma=sigma, worst=worst)
    )
    return document


def machines() -> dict[str, str]:
    """The machines that are known by name, each with a line about it."""
    return dict(_befit.machines())


def schedulers() -> dict[str, str]:
    """The schedulers, each with a line about it."""
    return dict(_befit.schedulers())


def kernels() -> dict[str, str]:
    """The kernels that can be recorded by name, each with a line about it."""
    return dict(_befit.kernels())
