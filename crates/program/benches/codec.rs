//! Speeds of the access codec and of the file format.
fn main() {}
