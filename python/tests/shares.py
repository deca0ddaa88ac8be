"""Measures which share of the workers' time is simulation, on two processes of each engine:

    python python/tests/shares.py [ELEMENTS] [SIMULATIONS]

It records rrm with so many elements (20,000: simulations of some 20 ms), runs as many simulations
under processes, Dask and MPI, prints a line for each, and compares their tables byte by byte."""

import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import befit


def grid(simulations: int) -> dict[str, Any]:
    return {
        "program": "rrm.befit",
        "machine": ["xeon-7560-1s", "opteron-8380"],
        "scheduler": ["ws", "pws", "sb", "sb-d", "mts"],
        "seed": list(range(1, simulations // 10 + 1)),
    }


def run(engine: str, simulations: int, executor: Executor | None) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    report = befit.sweep(grid(simulations), executor, out=f"{engine}.parquet", workers=2)
    after = resource.getrusage(resource.RUSAGE_SELF)
    each = report.simulation_seconds / report.simulated
    client = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{engine:9} {report.simulated} simulations of {1000 * each:5.1f} ms in "
        f"{report.seconds:6.2f} s: share {100 * report.share:.1f} %; {report.batches} batches, "
        f"client {1000 * client / report.batches:.1f} ms a batch, {after.ru_maxrss >> 10} MiB",
        flush=True,
    )


def by_processes(simulations: int) -> None:
    run("processes", simulations, None)


def by_dask(simulations: int) -> None:
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        run("Dask", simulations, client.get_executor())


def by_mpi(simulations: int) -> None:
    command = ["mpiexec", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures"]
    # Open MPI refuses to run as root, as in a container, unless both are set.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command += [__file__, "under-mpi", str(simulations)]
    subprocess.run(command, env={**os.environ, **root}, check=True)


def main(elements: int = 20_000, simulations: int = 500) -> None:
    recording = befit.record("rrm", n=elements, calibrate=False)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        recording.save("rrm.befit")
        for engine in (by_processes, by_dask, by_mpi):
            engine(simulations)
        tables = {Path(f"{name}.parquet").read_bytes() for name in ("processes", "Dask", "MPI")}
        print("the same bytes" if len(tables) == 1 else "different tables")
        assert len(tables) == 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["under-mpi"]:
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor() as executor:
            run("MPI", int(sys.argv[2]), executor)
    else:
        main(*map(int, sys.argv[1:]))
