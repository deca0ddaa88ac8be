"""Sweeps: whatever the engine and whatever happens, the same table."""

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import befit
from befit import _sweep, _worker
from befit._befit import available_parallelism


def grid(file: str, seeds: int = 5) -> dict[str, Any]:
    return {
        "program": file,
        "machine": ["xeon-7560", "opteron-8380"],
        "scheduler": ["ws", "sb"],
        "sigma": [0.25, 0.5],
        "seed": range(1, seeds + 1),
    }


def test_a_sweep_has_the_figures_of_single_simulations(file: str) -> None:
    report = befit.sweep(grid(file))
    table = report.table()
    assert (report.simulations, report.simulated, report.failed, len(table)) == (40, 40, {}, 40)
    assert report.workers == available_parallelism() and report.recordings_sent == 0
    row = table.iloc[7]
    options = {"sigma": row["sigma"]}
    recording = befit.Recording(file)
    one = befit.simulate(recording, row["machine"], row["scheduler"], row["seed"], **options)
    for name, figure in one.figures.items():
        assert row[name] == figure or (pd.isna(row[name]) and figure is None), name
    assert table["error"].isna().all() and not Path("results.parquet.sweep").exists()


def test_every_engine_order_and_number_of_workers_gives_the_same_bytes(file: str) -> None:
    from dask.distributed import Client, LocalCluster

    befit.sweep(grid(file), out="own.parquet")
    with ThreadPoolExecutor(3) as threads:
        befit.sweep(grid(file), threads, out="threads.parquet")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        befit.sweep(grid(file), client.get_executor(), out="dask.parquet")
    befit.sweep(grid(file), workers=1, threads=3, out="three.parquet")
    reversed_grid = [
        {name: list(reversed(v)) if isinstance(v, list) else v for name, v in grid(file).items()}
    ]
    befit.sweep(reversed_grid, workers=1, out="reversed.parquet")
    for shard in ("1/2", "2/2"):
        befit.sweep(grid(file), out=f"{shard[0]}.parquet", shard=shard)
    assert befit.merge(["2.parquet", "1.parquet"], "merged.parquet") == 40
    whole = Path("own.parquet").read_bytes()
    for name in ("threads", "dask", "three", "reversed", "merged"):
        assert Path(f"{name}.parquet").read_bytes() == whole, name


def test_the_default_pool_has_a_process_for_each_cpu_that_may_be_used() -> None:
    assert 1 <= available_parallelism() <= len(os.sched_getaffinity(0))


def test_regression_no_process_is_forked_while_a_recording_is_preloaded() -> None:
    forked = threading.Event()

    def fork() -> None:
        process = multiprocessing.get_context("fork").Process(target=_preloads)
        process.start()
        forked.set()
        process.join()

    thread = threading.Thread(target=fork)
    with _sweep._preloading:
        thread.start()
        assert not forked.wait(0.2)
    thread.join(30)
    assert forked.is_set() and not thread.is_alive()


def _preloads() -> None:
    with _sweep._preloading:
        pass


def test_a_sweep_that_is_complete_is_not_run_again_and_may_grow(file: str) -> None:
    befit.sweep(grid(file))
    assert befit.sweep(grid(file)).simulated == 0
    assert befit.sweep(grid(file, 6)).simulated == 8
    assert befit.sweep(grid(file, 6), resume=False).simulated == 48
    with pytest.raises(ValueError, match="not in this grid"):
        befit.sweep(grid(file, 4))


def test_a_recording_that_has_changed_is_told_in_one_line(file: str) -> None:
    befit.sweep(grid(file))
    befit.record("rrm", n=10_000, calibrate=False).save(file)
    with pytest.raises(ValueError, match=r"^the recording rrm.befit has changed.*begin anew$"):
        befit.sweep(grid(file))


class Killing(ProcessPoolExecutor):
    """Pools of which one of the workers is killed, once for all of them."""

    submitted = 0

    def submit(self, *arguments: Any, **keywords: Any) -> Future[Any]:  # type: ignore[override]
        Killing.submitted += 1
        future = super().submit(*arguments, **keywords)
        if Killing.submitted == 3:
            os.kill(next(iter(self._processes)), signal.SIGKILL)
        return future


def test_killed_workers_lose_nothing(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    befit.sweep(grid(file), out="whole.parquet")
    monkeypatch.setattr("befit._sweep.ProcessPoolExecutor", Killing)
    Killing.submitted = 0
    report = befit.sweep(grid(file), out="killed.parquet")
    assert report.failed == {}
    assert Path("killed.parquet").read_bytes() == Path("whole.parquet").read_bytes()


def test_an_executor_of_the_users_that_breaks_is_told_and_what_is_done_is_kept(file: str) -> None:
    Killing.submitted = 0
    with Killing(2) as pool, pytest.raises(befit.BefitError, match="run the sweep again"):
        befit.sweep(grid(file), pool)
    assert Path("results.parquet.sweep").exists()
    assert befit.sweep(grid(file)).failed == {}


class Interrupted(ProcessPoolExecutor):
    """A pool whose user presses Ctrl-C once, when its workers are there."""

    submitted = 0

    def submit(self, *arguments: Any, **keywords: Any) -> Future[Any]:  # type: ignore[override]
        self.submitted += 1
        if self.submitted == 3:
            raise KeyboardInterrupt
        return super().submit(*arguments, **keywords)


def test_a_pool_of_the_users_that_was_forked_in_a_sweep_does_not_keep_the_next_one_out(
    file: str,
) -> None:
    with Interrupted(2, multiprocessing.get_context("fork")) as pool:
        with pytest.raises(KeyboardInterrupt):
            befit.sweep(grid(file), pool)
        assert pool.submitted == 3 and len(pool._processes) == 2
        assert befit.sweep(grid(file), pool).failed == {}
    assert not Path("results.parquet.sweep").exists()


class Quick(Executor):
    """An engine that has simulated each batch when it returns, and whose user presses Ctrl-C."""

    submitted = 0

    def submit(self, work: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        self.submitted += 1
        if self.submitted == 3:
            raise KeyboardInterrupt
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **keywords))
        return future


def test_what_has_come_in_is_kept_when_ctrl_c_is_pressed(file: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        befit.sweep(grid(file), Quick(), workers=2)
    # The first two batches are of one simulation each.
    assert befit.sweep(grid(file)).simulated == 38


def asleep(*_: Any) -> None:
    time.sleep(120)


def test_nobody_waits_for_the_workers_when_ctrl_c_is_pressed(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("befit._sweep.ProcessPoolExecutor", Interrupted)
    monkeypatch.setattr(_worker, "run", asleep)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        befit.sweep(grid(file), workers=2)
    assert time.monotonic() - begin < 60


class Losing(Executor):
    """An engine that loses every fifth batch, and never gets one simulation back."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, work: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        if self.submitted % 5 == 0 or b'"index":9,' in arguments[0]:
            future.set_exception(RuntimeError("gone"))
        else:
            future.set_result(work(*arguments, **keywords))
        return future


def test_lost_simulations_are_tried_again_and_then_reported(file: str) -> None:
    report = befit.sweep(grid(file), Losing(), workers=1)
    assert set(report.failed) >= {9} and "gone" in report.failed[9]
    table = report.table()
    assert set(table.index[table["error"].notna()]) == set(report.failed)
    assert befit.sweep(grid(file)).simulated == len(report.failed)


class Failing(Executor):
    """An engine in which every simulation fails the first time."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def submit(self, work: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        result, *rest = work(*arguments, **keywords)
        done = json.loads(result)
        numbers = {number for number, _ in done["done"]}
        fresh = numbers - self.seen
        self.seen |= numbers
        done["done"] = [
            [number, {"Err": "not yet"} if number in fresh else figures]
            for number, figures in done["done"]
        ]
        future: Future[Any] = Future()
        future.set_result((json.dumps(done).encode(), *rest))
        return future


def test_simulations_that_fail_are_tried_again_together(file: str) -> None:
    report = befit.sweep(grid(file), Failing(), workers=1)
    assert report.failed == {}
    # Alone, each would be a batch.
    assert report.batches < report.simulations
    befit.sweep(grid(file), out="whole.parquet")
    assert Path("results.parquet").read_bytes() == Path("whole.parquet").read_bytes()


class Elsewhere(Executor):
    """A worker that does not see the client's files."""

    def submit(self, work: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        code = "import pickle, sys; work, a = pickle.load(sys.stdin.buffer);"
        code += "sys.stdout.buffer.write(pickle.dumps(work(*a)))"
        batch = arguments[0].replace(os.fsencode(os.getcwd()), b"/nowhere")
        data = pickle.dumps((work, (batch, *arguments[1:])))
        done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)
        future: Future[Any] = Future()
        future.set_result(pickle.loads(done.stdout))
        return future


def test_a_recording_travels_once_to_where_it_cannot_be_read(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    few = {**grid(file), "seed": 1}
    report = befit.sweep(few, Elsewhere(), workers=1)
    assert (report.failed, report.recordings_sent) == ({}, 1)


def test_a_recording_that_does_not_fit_on_the_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    # The soft limit of a file's size is as a full disk.
    code = """
import resource, signal
from befit import _worker
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, resource.RLIM_INFINITY))
_worker.keep("0" * 32, bytes(100_000))
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    full = subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path)
    assert b"File too large" in full.stderr, full.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


class Unsent(Elsewhere):
    """Workers that see no files, whose client loses the recording meanwhile."""

    def submit(self, work: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        Path("rrm.befit").unlink(missing_ok=True)
        return super().submit(work, *arguments, **keywords)


def test_a_recording_that_is_removed_before_it_is_sent_is_told(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(befit.BefitError, match=r"cannot read .*rrm\.befit"):
        befit.sweep({**grid(file), "seed": 1}, Unsent(), workers=1)


def test_a_client_that_is_killed_goes_on(file: str) -> None:
    seeds = 200
    code = f"""
import befit
befit.sweep({{**{ {k: v for k, v in grid(file).items() if k != "seed"} !r},
              "seed": range(1, {seeds + 1})}}, out="killed.parquet")
"""
    client = subprocess.Popen([sys.executable, "-c", code])
    journal = Path("killed.parquet.sweep/rows.jsonl")
    while not journal.exists() or journal.read_bytes().count(b"\n") < 20:
        assert client.poll() is None
        time.sleep(0.01)
    client.kill()
    client.wait()
    assert not Path("killed.parquet").exists()
    report = befit.sweep(grid(file, seeds), out="killed.parquet")
    assert 0 < report.simulated <= 8 * seeds - 20
    befit.sweep(grid(file, seeds), out="whole.parquet")
    assert Path("killed.parquet").read_bytes() == Path("whole.parquet").read_bytes()


def test_a_full_disk_is_told_in_one_line_and_loses_nothing(file: str) -> None:
    # The soft limit of a file's size is as a full disk: what is written is cut off in the middle.
    code = f"""
import befit, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, resource.RLIM_INFINITY))
befit.sweep({ {**grid(file), "seed": list(range(1, 11))} !r})
"""
    full = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = full.stderr.strip().splitlines()[-1]
    assert "cannot write" in last and "run the sweep again to go on" in last, full.stderr
    report = befit.sweep(grid(file, 10))
    assert 0 < report.simulated < 80
    befit.sweep(grid(file, 10), out="whole.parquet")
    assert Path("results.parquet").read_bytes() == Path("whole.parquet").read_bytes()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"scheduler": "wss"}, "unknown scheduler"),
        ({"sigme": 1}, "has no sigme"),
        ({"seed": []}, "an axis is empty"),
        ({"program": "none.befit"}, "none.befit"),
        ({"program": "rrm --m 5"}, "--n N"),
        ({"sigma": float("nan")}, "JSON"),
        ({"sockets": 9}, "1 to 4 sockets"),
    ],
)
def test_a_grid_that_cannot_be_is_a_value_error(
    file: str, change: dict[str, Any], part: str
) -> None:
    with pytest.raises(ValueError, match=part):
        befit.sweep({**grid(file), "machine": "xeon-7560", **change})
    assert not Path("results.parquet.sweep").exists()


def test_what_is_no_executor_and_a_table_of_others_are_told(file: str) -> None:
    with pytest.raises(TypeError, match="no executor"):
        befit.sweep(grid(file), "dask")  # type: ignore[arg-type]
    pd.DataFrame({"a": [1]}).to_parquet("results.parquet")
    with pytest.raises(ValueError, match="no sweep of befit wrote"):
        befit.sweep(grid(file))
    assert not Path("results.parquet.sweep").exists()


def test_a_grid_in_a_file_is_the_same(file: str) -> None:
    Path("grid.toml").write_text(
        f"program = '{file}'\nmachine = ['xeon-7560', 'opteron-8380']\n"
        "scheduler = ['ws', 'sb']\nsigma = [0.25, 0.5]\nseed = '1..5'\n"
    )
    befit.sweep("grid.toml", out="file.parquet")
    befit.sweep(grid(file), out="own.parquet")
    assert Path("file.parquet").read_bytes() == Path("own.parquet").read_bytes()


def test_axes_beside_grid_tables_in_a_file_are_told_with_its_name(file: str) -> None:
    axes = f"program = '{file}'\nmachine = 'xeon-7560'\nscheduler = 'ws'\n"
    Path("grid.toml").write_text(f"seed = '1..5'\n[[grid]]\n{axes}")
    told = r"^grid.toml: a file has either axes or \[\[grid\]\] tables$"
    with pytest.raises(ValueError, match=told):
        befit.sweep("grid.toml")
    assert not Path("results.parquet.sweep").exists()
    Path("grid.toml").write_text(f"[[grid]]\n{axes}[[grid]]\n{axes}seed = 2\n")
    assert befit.sweep("grid.toml").simulations == 2


class Older(Executor):
    """An engine whose client has another version of befit than its workers."""

    def submit(self, work: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        version = befit.__version__.encode()
        assert version in arguments[0]
        future: Future[Any] = Future()
        try:
            work(arguments[0].replace(version, b"0.0.1+older"), *arguments[1:])
        except befit.BefitError as error:
            future.set_exception(error)
        return future


def test_a_worker_of_another_version_is_told(file: str) -> None:
    told = r"^this worker has befit .*, and the sweep befit 0\.0\.1\+older$"
    with pytest.raises(befit.BefitError, match=told):
        befit.sweep(grid(file), Older(), workers=1)
    with pytest.raises(befit.BefitError, match="no batch"):
        _worker.run(b"{}")
