"""A sweep on Dask workers that run as Slurm jobs: `pip install dask-jobqueue`, then start this on
the login node, in a folder with rrm.befit that all nodes see. It may be stopped and started
again."""

import befit
from dask.distributed import Client
from dask_jobqueue import SLURMCluster

if __name__ == "__main__":
    cluster = SLURMCluster(cores=16, processes=16, memory="32GB", walltime="04:00:00")
    cluster.scale(jobs=10)
    with Client(cluster) as client:
        client.wait_for_workers(16)
        report = befit.sweep(
            {
                "program": "rrm.befit",
                "machine": ["xeon-7560", "epyc-9654"],
                "scheduler": ["ws", "sb"],
                "sigma": [0.25, 0.5],
                "seed": range(1, 6),
            },
            client.get_executor(),
            workers=160,
        )
    print(report)
