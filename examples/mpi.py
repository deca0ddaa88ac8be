"""A sweep over MPI: `mpiexec -n 3 python -m mpi4py.futures examples/mpi.py`, in a folder with
rrm.befit. One process gives out the work, the others simulate."""

import befit
from mpi4py.futures import MPIPoolExecutor

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        report = befit.sweep(
            {
                "program": "rrm.befit",
                "machine": ["xeon-7560", "epyc-9654"],
                "scheduler": ["ws", "sb"],
                "sigma": [0.25, 0.5],
                "seed": range(1, 6),
            },
            executor,
        )
    print(report)
