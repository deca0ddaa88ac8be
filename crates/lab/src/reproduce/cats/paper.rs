//! What the paper reports.

/// A memory-bound program and the paper's figures for it against Cilk-a, in percent.
pub(super) struct Reported {
    pub(super) name: &'static str,
    /// Misses in millions at 1024 rows: L2 and L3, under Cilk-a and under CATS.
    pub(super) l2: (f64, f64),
    pub(super) l3: (f64, f64),
    /// Change of time at 1024 rows, where the text gives it for the program.
    pub(super) time: Option<f64>,
    /// The same at 8192 rows.
    pub(super) time_8192: Option<f64>,
    /// Change of L3 misses at 8192 rows.
    pub(super) l3_8192: Option<f64>,
}

/// The range that the paper gives for the change of time over all six.
pub(super) const TIMES: (f64, f64) = (-74.4, -35.3);

/// The six memory-bound programs.
pub(super) const MEMORY_BOUND: [Reported; 6] = [
    Reported {
        name: "heat",
        l2: (79.6, 67.5),
        l3: (24.8, 5.9),
        time: Some(-40.4),
        time_8192: Some(-12.3),
        l3_8192: Some(-55.9),
    },
    Reported {
        name: "heat-ub",
        l2: (78.7, 67.6),
        l3: (29.7, 3.72),
        time: Some(-35.3),
        time_8192: Some(-11.4),
        l3_8192: None,
    },
    Reported {
        name: "sor",
        l2: (85.0, 66.2),
        l3: (29.6, 4.75),
        time: Some(-56.1),
        time_8192: Some(-21.1),
        l3_8192: None,
    },
    Reported {
        name: "sor-ub",
        l2: (85.5, 67.4),
        l3: (30.7, 8.27),
        time: Some(-44.9),
        time_8192: Some(-18.0),
        l3_8192: Some(-38.2),
    },
    Reported {
        name: "ge",
        l2: (58.8, 50.3),
        l3: (14.5, 2.94),
        time: None,
        time_8192: None,
        l3_8192: None,
    },
    Reported {
        name: "ge-ub",
        l2: (37.1, 20.0),
        l3: (10.7, 2.15),
        time: None,
        time_8192: None,
        l3_8192: None,
    },
];

/// The CPU-bound programs, each with its size in simulations.
pub(super) const CPU_BOUND: [(&str, u64); 5] =
    [("mandelbrot", 1024), ("queens", 14), ("fft", 1 << 18), ("ga", 256), ("knapsack", 24)];

/// From one count to another, in percent.
pub(super) fn change((from, to): (f64, f64)) -> f64 {
    100.0 * (to / from - 1.0)
}
