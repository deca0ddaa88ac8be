//! What the programs share: their one argument.

/// The size from the command line, `usual` without one.
///
/// # Panics
/// When it is no whole number.
pub fn size(usual: usize) -> usize {
    std::env::args().nth(1).map_or(usual, |n| n.parse().expect("n is a whole number"))
}
