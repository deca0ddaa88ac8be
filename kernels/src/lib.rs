//! Benchmark programs: ordinary Rust on befit's API
