//! Fork-join parallelism that runs each task where its data befits the cache
