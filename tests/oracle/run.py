#!/usr/bin/env python3
"""Holds the cache model against two others: PyPI's pycachesim, and valgrind's cachegrind.

    tests/oracle/run.py

Every case is one core, LRU, non-inclusive. A trace goes through the example `replay`, which is
built beside the workspace's tests, and through the other model. Compared are the misses of each
level, those of stores (cachegrind), the lines written back from each level and memory's reads and
writes (pycachesim), to within 0.1 %.

pycachesim brings a written-back line that the next cache no longer has in by a load, and counts
that as one of its misses; befit's write-back brings the line in and is no miss. How many there are
follows from pycachesim's own counts: loads of a level beyond the misses of the one before it. They
are taken off its misses, and the row says so (`less N`). The trace `matmul` has many; its data fits
the third level, so that what pycachesim loads for them hits there.

pycachesim is installed into a virtual environment under target/ for this test only: it is under the
AGPL, and nothing of befit may depend on it. Needs cargo, gcc, valgrind and python3 with venv. Exits
with 1 where a case fails.
"""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
TOLERANCE = 0.001

# (level, sets, ways), the innermost first; lines of 64 bytes.
THREE_LEVELS = [(1, 16, 8), (2, 128, 8), (3, 256, 16)]
TWO_LEVELS = [(1, 8, 4), (2, 64, 8)]

# Figures that are compared: of three levels, a trace's misses and write-backs of each, and memory's
# reads and writes; of two, a trace's misses and store misses of each.
EXPECTED = 5 * (2 * 3 + 2) + 2 * (2 * 2)

passed = failed = 0


def compare(case, oracle, theirs, ours, notes=()):
    """Prints a row per figure; counts those within the tolerance."""
    global passed, failed
    for figure, expected in theirs.items():
        got = ours[figure]
        ok = abs(got - expected) <= TOLERANCE * max(expected, 1)
        passed, failed = passed + ok, failed + (not ok)
        off = (got - expected) / expected * 100 if expected else 0.0
        note = dict(notes).get(figure, "")
        print(f"{case:24} {oracle:12} {figure:16} {expected:>10} {got:>10} {off:>+9.4f} %  {'ok' if ok else 'FAILED'} {note}".rstrip())


def replay(levels, trace):
    """Figures of befit's model: misses, store misses and write-backs per level. `trace`: (is_write, address)."""
    caches = " ".join(f"l{n}:1(size={sets * ways * 64} ways={ways})" for n, sets, ways in reversed(levels))
    text = "".join(f"{'w' if write else 'r'} {address}\n" for write, address in trace)
    command = [TARGET / "debug/examples/replay", f"{caches} pu:1"]
    out = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    figures = {}
    for level, *counts in rows:
        names = ["read", "written"] if level == "memory" else ["accesses", "misses", "written back", "store misses"]
        figures |= {f"{level} {name}": int(count) for name, count in zip(names, counts)}
    return figures


def matmul(rows, inner, columns):
    """Rows of C += A·B. A row of C stays hot in the first cache while B streams through the second, which lets C's lines go:
    when C is written back it finds nothing there."""
    a, b = 0, 8 * rows * inner
    c = b + 8 * inner * columns
    for i in range(rows):
        for k in range(inner):
            yield False, a + 8 * (i * inner + k)
            for j in range(0, columns, 8):
                yield False, b + 8 * (k * columns + j)
                yield False, c + 8 * (i * columns + j)
                yield True, c + 8 * (i * columns + j)


def traces():
    """Reads in sequence and at random, reads and writes at random, writes in sequence, and a product of matrices."""
    rng = random.Random(1)
    words = (3 << 18) // 8  # 768 KiB, three times the outermost cache
    yield "sequential", [(False, 8 * i) for _ in range(2) for i in range(words)]
    yield "random", [(False, 8 * rng.randrange(words)) for _ in range(100_000)]
    yield "random, 30 % writes", [(rng.random() < 0.3, 8 * rng.randrange(words)) for _ in range(100_000)]
    yield "sequential writes", [(True, 8 * i) for _ in range(2) for i in range(words)]
    yield "matmul", list(matmul(32, 24, 384))


def against_pycachesim():
    """Three levels."""
    home = TARGET / "oracle-venv"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pycachesim==0.3.1"]
        subprocess.run(pip, check=True)
        (home / "ready").touch()
    for case, trace in traces():
        text = "".join(f"{int(write)} {address}\n" for write, address in trace)
        command = [python, HERE / "with_pycachesim.py", repr(THREE_LEVELS)]
        out = subprocess.run(
            command, input=text, text=True, stdout=subprocess.PIPE, check=True
        ).stdout
        theirs, notes, before = {}, {}, None
        for row in out.splitlines():
            level, loads, misses, written = row.split()[0], *map(int, row.split()[1:])
            # Loads that no miss of the level before asked for: write-backs that found nothing.
            missed = 0 if before is None else loads - before
            before = misses
            name, count = ("memory read", loads) if level == "memory" else (f"{level} misses", misses)
            theirs |= {name: count - missed, f"{level} written{' back' * (level != 'memory')}": written}
            if missed:
                notes[name] = f"less {missed}"
        compare(case, "pycachesim", theirs, replay(THREE_LEVELS, trace), notes)


def data_accesses(log):
    """(is_write, address) of each data access in lackey's trace; what it calls a modification reads, then writes."""
    for line in log:
        # What it says of itself, and of instructions.
        if line[0] != " ":
            continue
        match = re.match(r" ([LSM]) ([0-9a-f]+),", line)
        if match:
            address = int(match[2], 16)
            if match[1] != "S":
                yield False, address
            if match[1] != "L":
                yield True, address


def against_cachegrind():
    """Two levels; the trace is that of the same program under valgrind's lackey."""
    with tempfile.TemporaryDirectory() as folder:
        for case in ("sequential", "random, 25 % writes"):
            program = pathlib.Path(folder) / f"access-{case[0]}"
            build = ["gcc", "-O2", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-o", program, HERE / "access.c"]
            subprocess.run(build, check=True)
            log = pathlib.Path(folder) / "trace"
            subprocess.run(["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}", program], check=True)
            with open(log, encoding="ascii", errors="replace") as lines:
                trace = list(data_accesses(lines))
            # The program's stack is far away from its data: number the lines densely, in order,
            # keeping their sets.
            base = min(address for _, address in trace) & ~0xFFFFF
            trace = [(write, (address - base) % (1 << 30)) for write, address in trace]
            (_, sets1, ways1), (_, sets2, ways2) = TWO_LEVELS
            out = pathlib.Path(folder) / "counts"
            shapes = [f"--{name}={s * w * 64},{w},64" for name, s, w in
                      (("I1", sets1, ways1), ("D1", sets1, ways1), ("LL", sets2, ways2))]
            command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", *shapes, f"--cachegrind-out-file={out}",
                       "--log-file=/dev/null", program]
            subprocess.run(command, check=True)
            counts = dict(zip(*[re.search(rf"^{key}: (.*)$", out.read_text(), re.M)[1].split()
                                for key in ("events", "summary")]))
            number = {name: int(count) for name, count in counts.items()}
            theirs = {"L1 misses": number["D1mr"] + number["D1mw"], "L2 misses": number["DLmr"] + number["DLmw"],
                      "L1 store misses": number["D1mw"], "L2 store misses": number["DLmw"]}
            compare(case, "cachegrind", theirs, replay(TWO_LEVELS, trace))


def main():
    # Of the whole workspace and in the tests' profile: they have built most of it.
    build = ["cargo", "build", "--quiet", "--workspace", "--example", "replay"]
    subprocess.run(build, cwd=ROOT, check=True)
    print(f"{'trace':24} {'oracle':12} {'figure':16} {'theirs':>10} {'befit':>10} {'off':>11}")
    against_pycachesim()
    against_cachegrind()
    print(f"{passed} passed, {failed} failed, of {EXPECTED}")
    sys.exit(0 if passed == EXPECTED and not failed else 1)


if __name__ == "__main__":
    main()
