"""Runs a trace from standard input (`0|1 address`: read or write) through pycachesim; prints of each level, and of memory,
loads, misses, and lines written back from it.

Called by run.py, with the interpreter of the virtual environment that has pycachesim.
"""

import ast
import itertools
import sys

from cachesim import Cache, CacheSimulator, MainMemory

levels = ast.literal_eval(sys.argv[1])
memory = MainMemory()
outer = None
for number, sets, ways in reversed(levels):
    inner = Cache(f"L{number}", sets, ways, 64, "LRU")
    if outer is None:
        memory.load_to(inner)
        memory.store_from(inner)
    else:
        inner.set_load_from(outer)
        inner.set_store_to(outer)
    outer = inner
simulator = CacheSimulator(outer, memory)
trace = (line.split() for line in sys.stdin)
for write, run in itertools.groupby(trace, key=lambda access: access[0]):
    addresses = [int(address) for _, address in run]
    (simulator.store if write == "1" else simulator.load)(addresses, length=8)
for cache in sorted(simulator.levels(with_mem=False), key=lambda c: c.name):
    stats = cache.stats()
    print(cache.name, stats["LOAD_count"], stats["MISS_count"], stats["EVICT_count"])
print("memory", memory.stats()["LOAD_count"], 0, memory.stats()["STORE_count"])
