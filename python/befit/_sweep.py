"""Sweeps over any engine that is a `concurrent.futures.Executor`."""

import contextlib
import json
import multiprocessing
import os
import threading
import time
import tomllib
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from befit import _worker
from befit._befit import BefitError, Machine, Sweep, available_parallelism

if TYPE_CHECKING:
    import pandas as pd

Axes = Mapping[str, Any]

# Seconds that a batch is meant to take: an engine's own work for a batch, milliseconds, does not
# count beside it, and little is lost with a worker.
BATCH = 1.0
# Batches that wait in the engine for each of its workers, so that none is idle meanwhile.
AHEAD = 2
# How often a simulation is tried.
TRIES = 2

# Sweeps that this process has open, and with them their locks.
_open: set[Sweep] = set()

# Held while a thread preloads recordings, for which it locks the simulator, and while a process is
# forked, by whatever thread: the new one would find the simulator locked for ever.
_preloading = threading.Lock()


def _leave() -> None:
    """In a forked process: gives up the locks that it has inherited. It may be a worker of a pool
    that lives longer than the sweep, and would keep the next sweep out."""
    for work in _open:
        # Else another thread was in it when the process was forked.
        with contextlib.suppress(RuntimeError):
            work.leave()
    _open.clear()
    _preloading.release()


os.register_at_fork(
    before=_preloading.acquire, after_in_parent=_preloading.release, after_in_child=_leave
)


@dataclass(frozen=True)
class SweepReport:
    """What a sweep did."""

    #: The table: a Parquet file.
    out: Path
    #: Its rows.
    simulations: int
    #: Those that were simulated now, and not before.
    simulated: int
    #: Those that failed, by row, with the reason; the column `error` has it, too.
    failed: dict[int, str]
    #: Seconds from the first batch to the last result.
    seconds: float
    #: Seconds that the simulations took, all workers together.
    simulation_seconds: float
    #: How many simulations ran at a time: workers × threads of each.
    workers: int
    #: How many batches were given out.
    batches: int
    #: How often a recording was sent.
    recordings_sent: int

    @property
    def share(self) -> float:
        """The share of the workers' time that was simulation, from 0 to 1."""
        return self.simulation_seconds / max(self.seconds * self.workers, 1e-9)

    def table(self) -> "pd.DataFrame":
        """The whole table, a row a simulation."""
        import pandas as pd

        return pd.read_parquet(self.out)


def sweep(
    grid: Axes | Iterable[Axes] | str | os.PathLike[str],
    executor: Executor | None = None,
    out: str | os.PathLike[str] = "results.parquet",
    resume: bool = True,
    *,
    shard: str | None = None,
    workers: int | None = None,
    threads: int = 1,
) -> SweepReport:
    """Simulates every configuration of `grid` and writes the table `out`, one row each.

    `grid` maps the names of columns to a value or to values of which every combination is
    simulated, or is a list of such mappings, or the path of a TOML file with either. `program` is
    the path of a recording or a kernel with its arguments (`"rrm --n 1000000"`); `machine` and
    `scheduler` are names; `seed`, `sizes`, `shrink`, `bandwidth`, `sockets`, `cores` and the
    schedulers' options may be left out.

    `executor` is any `concurrent.futures.Executor` whose workers have befit: a process pool, which
    is the default, with `workers` processes (one for each CPU that this one may use);
    `dask.distributed.Client(...).get_executor()`; `mpi4py.futures.MPIPoolExecutor()`. `workers` is
    how many batches it runs at a time, where it does not tell. Each of them runs on `threads`
    threads of its worker, which share one copy of the recording: give it where a worker has several
    cores and takes one batch at a time, as a process of MPI does.

    The table is the same, byte by byte, whatever the engine, the number of its workers and the
    order in which they finish. Until it is complete, what is done stands in the folder `OUT.sweep`:
    a sweep that was stopped goes on there, unless `resume` is false. `shard` is `"2/7"` for the
    second of seven equal parts, which `befit.merge` puts together.

    A simulation that fails or is lost is tried again; then its row has the reason in the column
    `error`, and the rest goes on.

    Raises `ValueError` for a grid that cannot be, and where recordings, machines or befit changed
    since an earlier sweep into `out`; `BefitError` when a file cannot be written, a worker has
    another befit or another machine of the same name, or the engine is broken: what is done is then
    kept.
    """
    for name, number in (("workers", workers), ("threads", threads)):
        if number is not None and number < 1:
            raise ValueError(f"{name}: at least one")
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"{executor!r} is no executor")
    if isinstance(grid, str | os.PathLike):
        table = tomllib.loads(Path(grid).read_text())
        if "grid" in table and len(table) > 1:
            raise ValueError(f"{os.fspath(grid)}: a file has either axes or [[grid]] tables")
        grid = table.get("grid", table)
    work = Sweep(json.dumps(_plain(grid), allow_nan=False), Path(out), resume, shard)
    _open.add(work)
    try:
        return _run(work, executor, Path(out), workers, threads)
    finally:
        _open.discard(work)
        work.close()


def _run(
    work: Sweep, executor: Executor | None, out: Path, workers: int | None, threads: int
) -> SweepReport:
    simulations, before = len(work), work.done()
    engine = _Engine(work, executor, workers, threads)
    begin = time.perf_counter()
    try:
        engine.run()
    except BaseException:
        engine.stop()
        raise
    engine.close()
    seconds = time.perf_counter() - begin
    failed, done = work.failed(), work.done()
    work.finish()
    return SweepReport(
        out=out,
        simulations=simulations,
        simulated=done - before,
        failed=failed,
        seconds=seconds,
        simulation_seconds=engine.seconds,
        workers=engine.workers * threads,
        batches=engine.batches,
        recordings_sent=engine.sent,
    )


class _Engine:
    """Gives batches to an executor until nothing is pending."""

    def __init__(
        self, work: Sweep, executor: Executor | None, workers: int | None, threads: int
    ) -> None:
        self.work = work
        self.threads = threads
        self.pending = deque(work.pending())
        # Simulations of batches that an engine has lost: each is a batch of its own.
        self.lost: deque[int] = deque()
        # Simulations that were under way when a worker of the own pool died: each runs alone.
        self.suspects: deque[int] = deque()
        # What flies now is one of them.
        self.alone = False
        self.tries: dict[int, int] = {}
        self.flying: dict[Future[Any], list[int]] = {}
        self.landed: SimpleQueue[Future[Any]] = SimpleQueue()
        self.seconds = 0.0
        self.simulated = 0
        self.batches = 0
        self.sent = 0
        self.scattered: dict[str, Any] = {}
        # Batches under way that carry a recording.
        self.carrying: set[Future[Any]] = set()
        self.own = executor is None
        self.workers = workers or _workers(executor)
        if self.own and self.pending:
            # Before the workers are forked, which then share it.
            with _preloading:
                work.preload()
        self.executor = executor or self.pool()

    def pool(self) -> Executor:
        """Processes that share what this one has read."""
        context = multiprocessing.get_context("fork")
        return ProcessPoolExecutor(
            self.workers, mp_context=context, initializer=_worker.end_with_parent
        )

    def close(self) -> None:
        """Ends the own workers, which have nothing left to do."""
        if self.own:
            self.executor.shutdown(wait=True)

    def stop(self) -> None:
        """Gives up in the middle, and keeps what has come in. Nobody waits for the own workers,
        which may be in a long simulation, with more in the queue."""
        if self.own:
            self.kill()
        else:
            for future in self.flying:
                future.cancel()
        for future in self.flying:
            if future.done() and not future.cancelled() and future.exception() is None:
                result, _, missing = future.result()
                if missing is None:
                    # It may be just this that has failed.
                    with contextlib.suppress(BefitError):
                        self.work.append(result)

    def kill(self) -> None:
        """Ends the own workers at once."""
        # If one ends in the middle of a result, the pool's thread waits for the rest as long as
        # somebody could write it: this process, too. In the same way its other thread waits until
        # batches that fill the pipe to the workers are read.
        for queue, end in (("_result_queue", "_writer"), ("_call_queue", "_reader")):
            pipe = getattr(getattr(self.executor, queue, None), end, None)
            if pipe is not None:
                pipe.close()
        for process in list((getattr(self.executor, "_processes", None) or {}).values()):
            process.kill()
        self.executor.shutdown(wait=True, cancel_futures=True)

    def run(self) -> None:
        while self.pending or self.lost or self.suspects or self.flying:
            self.fill()
            if not self.flying:
                continue  # the pool broke before it took anything
            future = self.landed.get()
            numbers = self.flying.pop(future)
            self.carrying.discard(future)
            try:
                result, seconds, missing = future.result()
            except BrokenExecutor as error:
                self.broken(numbers, error)
            except BefitError:
                raise
            except Exception as error:  # whatever an engine has for a lost worker
                self.again([(number, f"lost: {error!r}") for number in numbers], self.lost)
            else:
                if missing is not None:
                    self.send(numbers, missing)
                    continue
                self.seconds += seconds
                self.simulated += len(numbers)
                self.again(self.work.append(result), self.pending)

    def fill(self) -> None:
        """Keeps every worker busy; suspects run one at a time, and nothing beside them."""
        if not self.flying:
            self.alone = False
        while not self.suspects and len(self.flying) < AHEAD * self.workers:
            if self.lost:
                self.submit([self.lost.popleft()])
            elif self.pending:
                size = min(self.size(), len(self.pending))
                self.submit([self.pending.popleft() for _ in range(size)])
            else:
                break
        if self.suspects and not self.flying:
            self.alone = True
            self.submit([self.suspects.popleft()])

    def size(self) -> int:
        """How many simulations take as long as a batch is meant to, and no more than leaves work
        for all workers until the end."""
        if self.simulated == 0:
            return self.threads
        each = self.seconds / self.simulated / self.threads
        share = len(self.pending) // (AHEAD * self.workers)
        return max(self.threads, min(int(BATCH / max(each, 1e-6)), share))

    def submit(self, numbers: list[int], *recording: Any) -> None:
        try:
            batch = self.work.batch(numbers)
            future = self.executor.submit(_worker.run, batch, self.threads, *recording)
        except BrokenExecutor as error:
            self.alone = False  # nothing ran
            self.broken(numbers, error)
            return
        self.flying[future] = numbers
        self.batches += 1
        if recording:
            self.carrying.add(future)
        future.add_done_callback(self.landed.put)

    def broken(self, numbers: list[int], error: BrokenExecutor) -> None:
        """A worker was killed, and with it the pool. Nobody knows by which simulation."""
        if not self.own:
            left = len(numbers) + sum(map(len, self.flying.values()))
            left += len(self.pending) + len(self.lost)
            raise BefitError(
                f"the executor is broken, with {left} simulations left; what is done is kept: "
                f"run the sweep again to go on ({error})"
            )
        if self.alone:
            why = "its worker died: killed, or out of memory"
            self.again([(numbers[0], why)], self.suspects)
        else:
            self.suspects.extend(numbers)
        if not self.flying:
            self.executor.shutdown(wait=True)
            self.executor = self.pool()

    def again(self, failed: list[tuple[int, str]], to: deque[int]) -> None:
        """Tries simulations again, with those of `to`, or gives them up."""
        for number, why in failed:
            self.tries[number] = self.tries.get(number, 0) + 1
            if self.tries[number] < TRIES:
                to.append(number)
            else:
                self.work.fail(number, why)

    def send(self, numbers: list[int], hash: str) -> None:
        """Sends a recording to a worker that cannot read it from a file. Dask sends it once to each
        worker; other engines with each batch until every worker has it."""
        data: Any = self.scattered.get(hash)
        if data is None:
            if len(self.carrying) >= self.workers:
                # As many as there are workers are on their way.
                self.pending.extendleft(reversed(numbers))
                return
            data = self.work.recording_bytes(hash)
            client = getattr(self.executor, "_client", None)
            if client is not None:
                data = client.scatter(data, broadcast=True, hash=False)
                self.scattered[hash] = data
            self.sent += 1
        self.submit(numbers, hash, data)


def _workers(executor: Executor | None) -> int:
    """How many batches an engine runs at a time."""
    if executor is None:
        return available_parallelism()
    for name in ("_max_workers", "num_workers"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    client = getattr(executor, "_client", None)
    if client is not None:  # Dask's
        threads: dict[str, int] = client.nthreads()
        return max(1, sum(threads.values()))
    return available_parallelism()


def _plain(grid: Any) -> Any:
    """The grid as JSON has it."""
    if isinstance(grid, Machine):
        raise TypeError(
            "a grid names machines by text; sockets, cores, bandwidth and shrink are axes of it"
        )
    if isinstance(grid, Mapping):
        return {str(name): _plain(values) for name, values in grid.items()}
    if isinstance(grid, os.PathLike):
        return os.fspath(grid)
    if hasattr(grid, "item") and getattr(grid, "ndim", None) == 0:
        return grid.item()  # a number of numpy
    if isinstance(grid, str) or not isinstance(grid, Iterable):
        return grid
    return [_plain(value) for value in grid]
