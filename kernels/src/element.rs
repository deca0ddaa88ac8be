//! Numbers of 8 or of 16 bytes, for kernels whose source does not say how large its elements are.

/// The size of a matrix's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ElementSize {
    /// A double.
    #[default]
    Eight,
    /// A double that takes the room of a `long double`.
    Sixteen,
}

/// An element of a matrix.
pub(crate) trait Element: Copy + Send + Sync {
    fn new(value: f64) -> Self;
    fn get(self) -> f64;
}

impl Element for f64 {
    fn new(value: f64) -> Self {
        value
    }
    fn get(self) -> f64 {
        self
    }
}

/// A double with as many bytes of padding.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(crate) struct Wide(f64);

impl Element for Wide {
    fn new(value: f64) -> Self {
        Self(value)
    }
    fn get(self) -> f64 {
        self.0
    }
}
