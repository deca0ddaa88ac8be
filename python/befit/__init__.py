"""befit: what a cache-aware scheduler would do to a parallel program, on any machine.

>>> import befit
>>> recording = befit.record("rrm", n=1_000_000)
>>> befit.simulate(recording, "xeon-7560", "sb").time_cycles
>>> befit.compare(recording, ["xeon-7560", "epyc-9654"], ["ws", "sb"])
>>> befit.sweep({"program": "rrm --n 1000000", "machine": "xeon-7560",
...              "scheduler": ["ws", "sb"], "seed": range(1, 6)}).table()
"""

from befit._befit import (
    VERSION,
    BefitError,
    Machine,
    Outcome,
    Recording,
    merge,
    record,
    simulate,
)
from befit._sweep import SweepReport, sweep
from befit._tables import compare, kernels, machines, schedulers, sizes

__version__ = VERSION

__all__ = [
    "BefitError",
    "Machine",
    "Outcome",
    "Recording",
    "SweepReport",
    "compare",
    "kernels",
    "machines",
    "merge",
    "record",
    "schedulers",
    "simulate",
    "sizes",
    "sweep",
]
