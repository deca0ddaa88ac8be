//! What can go wrong with a kernel.

/// What can go wrong with a kernel.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The input does not fit in memory.
    #[error("there is not enough memory for n = {n}; give a smaller --n")]
    TooLarge {
        /// The size asked for.
        n: usize,
    },
    /// The result is not what it must be: the scheduler, or befit, has a defect.
    #[error("wrong result: element {index} is {found}, must be {expected}")]
    WrongResult {
        /// Where.
        index: usize,
        /// What is there.
        found: f64,
        /// What must be there.
        expected: f64,
    },
    /// What was to be sorted is not what came out: the scheduler, or befit, has a defect.
    #[error("wrong result: it does not hold the elements of the input")]
    OtherElements,
    /// The matrix product is wrong: the scheduler, or befit, has a defect.
    #[error("wrong result: row {row} of the product is not what it must be")]
    WrongProduct {
        /// Which row of it.
        row: usize,
    },
}
