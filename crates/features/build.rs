//! Nothing is to do. Without this file cargo would leave the build-dependencies out.

fn main() {}
