"""What takes minutes: every engine on hundreds of simulations, and ten thousand in shards."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import befit

pytestmark = pytest.mark.long


def grid(file: str, seeds: int) -> dict[str, Any]:
    return {
        "program": file,
        "machine": ["xeon-7560-1s", "opteron-8380"],
        "scheduler": ["ws", "pws", "sb", "sb-d", "mts"],
        "seed": list(range(1, seeds + 1)),
    }


def test_dask_mpi_and_processes_give_the_same_bytes_for_500_simulations(file: str) -> None:
    from dask.distributed import Client, LocalCluster

    report = befit.sweep(grid(file, 50), out="own.parquet")
    print("processes:", report.share, report.seconds)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        report = befit.sweep(grid(file, 50), client.get_executor(), out="dask.parquet")
        print("Dask:", report.share, report.seconds)
    code = f"""
import befit
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        report = befit.sweep({grid(file, 50)!r}, executor, out="mpi.parquet")
    print("MPI:", report.share, report.seconds, report.workers)
    assert report.workers == 2
"""
    Path("mpi.py").write_text(code)
    mpiexec = shutil.which("mpiexec")
    assert mpiexec is not None, "mpiexec is needed: apt-get install openmpi-bin"
    command = [mpiexec, "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures"]
    # Open MPI refuses to run as root, as in a container, unless both are set.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([*command, "mpi.py"], env={**os.environ, **root}, timeout=300)
    assert done.returncode == 0
    whole = Path("own.parquet").read_bytes()
    assert Path("dask.parquet").read_bytes() == whole
    assert Path("mpi.parquet").read_bytes() == whole


def test_ten_thousand_in_one_go_stopped_half_way_and_in_seven_shards(file: str) -> None:
    befit.record("rrm", n=2_000, calibrate=False).save(file)
    many = grid(file, 1_000)
    befit.sweep({**many, "seed": [1]}, out="first.parquet")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = befit.sweep(many, out="whole.parquet")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert report.simulations == 10_000 and grown < 100_000, f"{grown} KiB more"
    print("10,000:", report.seconds, "s,", grown, "KiB more memory")
    befit.sweep({**many, "seed": many["seed"][:500]}, out="half.parquet")
    assert befit.sweep(many, out="half.parquet").simulated == 5_000
    parts = [f"part-{shard}.parquet" for shard in range(1, 8)]
    for shard, part in enumerate(parts, 1):
        befit.sweep(many, out=part, shard=f"{shard}/7")
    assert befit.merge(parts, "merged.parquet") == 10_000
    whole = Path("whole.parquet").read_bytes()
    assert Path("half.parquet").read_bytes() == whole
    assert Path("merged.parquet").read_bytes() == whole


NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"


@pytest.mark.parametrize("name", sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_runs_and_its_figures_hold(name: str, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
