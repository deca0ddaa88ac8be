"""What `run` and `sample` share: a copy of the checkout, and tests that are run in it."""

import enum
import os
import resource
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "target/mutants/tree"
# A test that the fault makes wait or run for ever, or take all memory, has found it: so many
# seconds where its table does not have others, and so many bytes of a process.
SECONDS, BYTES = 900, 16 << 30
LOOKS_A_SECOND = 20


def given_tests():
    """The file of faults, with what the names of its tests stand for."""
    with open(Path(__file__).with_name("list.toml"), "rb") as file:
        return tomllib.load(file)


def copy_checkout():
    """Copies the files that git knows, those alone that have changed: cargo goes by their times."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, text=True, capture_output=True
    ).stdout.split("\0")
    kept = set()
    for name in filter(None, names):
        source, copy = ROOT / name, TREE / name
        if not source.is_file():
            continue
        kept.add(copy)
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            copy.chmod(source.stat().st_mode)
    for path in TREE.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()


class Ended(enum.Enum):
    """How a run of cargo test did; true if it succeeded within its limits."""

    PASSED, FAILED, TIMED_OUT = range(3)

    def __bool__(self):
        return self is Ended.PASSED


def cargo(tests, *more):
    """Runs cargo test in the copy; returns how that ended."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target/mutants" / tests["target"])}
    # What one fault made fail must not be tried on the next: the checkout's tests have it not.
    environment["PROPTEST_DISABLE_FAILURE_PERSISTENCE"] = "1"
    if "rustflags" in tests:
        environment["RUSTFLAGS"] = tests["rustflags"]
    command = ["cargo", "test", "--quiet", *tests["cargo"], *more]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "process_group": 0}
    if "--no-run" in more:
        built = subprocess.run(command, cwd=TREE, env=environment, **options).returncode == 0
        return Ended.PASSED if built else Ended.FAILED
    command += ["--", *tests.get("names", [])]
    seconds = tests.get("seconds", SECONDS)

    def bounded():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    options["preexec_fn"] = bounded
    with subprocess.Popen(command, cwd=TREE, env=environment, **options) as process:
        # Looks are counted, not time: that goes on while the machine stands still.
        looks = 0
        while process.poll() is None:
            if (looks := looks + 1) > seconds * LOOKS_A_SECOND:
                os.killpg(process.pid, signal.SIGKILL)
                return Ended.TIMED_OUT
            time.sleep(1 / LOOKS_A_SECOND)
        return Ended.FAILED if process.returncode else Ended.PASSED
