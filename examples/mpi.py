"""A sweep over MPI: `mpiexec -n 3 python -m mpi4py.futures examples/mpi.py`, in a folder with
grid.toml and rrm.befit. One process gives out the work, the others simulate."""

import befit
from mpi4py.futures import MPIPoolExecutor

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        print(befit.sweep("grid.toml", executor))
