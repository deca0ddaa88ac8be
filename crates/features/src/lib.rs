//! Empty: what matters is in Cargo.toml.
