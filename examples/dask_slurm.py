"""A sweep on Dask workers that run as Slurm jobs: `pip install dask-jobqueue`, then start this on
the login node, in a folder with grid.toml and rrm.befit that all nodes see. Each job is one worker
with a thread a core, which share one copy of the recording. It may be stopped and started again."""

import argparse

import befit
from dask.distributed import Client
from dask_jobqueue import SLURMCluster

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--cores", type=int, default=16, help="of each job")
    parser.add_argument("--memory", default="32GB", help="of each job")
    parser.add_argument("--walltime", default="04:00:00", help="of each job")
    chosen = parser.parse_args()
    with (
        SLURMCluster(
            cores=chosen.cores, processes=1, memory=chosen.memory, walltime=chosen.walltime
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.scale(jobs=chosen.jobs)
        client.wait_for_workers(1)
        print(befit.sweep("grid.toml", client.get_executor(), workers=chosen.jobs * chosen.cores))
