//! What came back of a machine that was measured without a checkout: the file that the bundle of
//! `peers` leaves there (`befit.machine-measured/1`, docs/machines-measured.md).
//!
//! ```
//! let text = r#"{"schema": "befit.machine-measured/1", "model": "a processor", "kernel": "Linux",
//!     "threads": 4, "calibration": null, "idle": null, "predicted": null, "measured": null,
//!     "verified": null, "peers": []}"#;
//! let measured = befit_report::Measured::read(text)?;
//! let table = befit_report::render_measured(&measured, befit_report::Width::ANY);
//! assert!(table.starts_with("a processor, 4 threads, Linux\n"));
//! # Ok::<(), befit_report::MeasuredError>(())
//! ```

mod text;

pub use text::render;

use befit_lab::Verdict;
use serde::Deserialize;

/// The schema that [`Measured::read`] reads.
const SCHEMA: &str = "befit.machine-measured/1";

/// A machine's file. Parts that failed there, or for which no time was left, are `None`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Measured {
    /// The processor, as it names itself.
    pub(crate) model: String,
    /// The system's kernel.
    pub(crate) kernel: String,
    /// As many CPUs as the process could use.
    pub(crate) threads: usize,
    pub(crate) calibration: Option<Calibration>,
    pub(crate) idle: Option<Idle>,
    pub(crate) predicted: Option<Results<Predicted>>,
    pub(crate) measured: Option<Results<Native>>,
    pub(crate) verified: Option<Results<Verified>>,
    /// A part for each program and number of threads.
    pub(crate) peers: Vec<Option<Results<Peer>>>,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasuredError {
    /// It is not JSON, or a field is missing or of another type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is something else.
    #[error("its schema is {0}; the file that measure.sh leaves has {SCHEMA}")]
    Schema(String),
}

impl Measured {
    /// Reads the file's `text`. Fields that are not known are passed over.
    ///
    /// # Errors
    /// [`MeasuredError`] where it is no such file.
    pub fn read(text: &str) -> Result<Self, MeasuredError> {
        #[derive(Deserialize)]
        struct Document {
            schema: String,
        }
        let Document { schema } = serde_json::from_str(text)?;
        if schema != SCHEMA {
            return Err(MeasuredError::Schema(schema));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The parts that are missing, a sentence each.
    pub(crate) fn missing(&self) -> Vec<String> {
        let parts = [
            ("calibration", self.calibration.is_none()),
            ("idle pools", self.idle.is_none()),
            ("prediction of rrm", self.predicted.is_none()),
            ("measurement of rrm", self.measured.is_none()),
            ("verification of kernels", self.verified.is_none()),
        ];
        let missing = parts.into_iter().filter(|(_, is_missing)| *is_missing);
        let mut lines: Vec<String> =
            missing.map(|(name, _)| format!("The {name} is missing.")).collect();
        let failed = self.peers.iter().filter(|part| part.is_none()).count();
        if self.peers.is_empty() {
            lines.push("Programs beside other runtimes are missing.".to_owned());
        } else if failed > 0 {
            let all = self.peers.len();
            lines.push(format!("{failed} of {all} programs beside other runtimes are missing."));
        }
        if !lines.is_empty() {
            lines.push("A part is missing where it failed, or where ten minutes were over.".into());
        }
        let failed = self.verified.iter().flat_map(|part| &part.failed);
        lines.extend(failed.map(|why| format!("A kernel was not verified: {why}.")));
        let not_built = self.peers.iter().flatten().flat_map(|part| &part.not_built);
        for NotBuilt { runtime, reason } in not_built {
            let line = format!("The runtime {runtime} is not there: {reason}.");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// The programs beside other runtimes, sorted by program and number of threads.
    pub(crate) fn all_peers(&self) -> Vec<&Peer> {
        let mut all: Vec<&Peer> = self.peers.iter().flatten().flat_map(|p| &p.results).collect();
        all.sort_by_key(|peer| (peer.program.clone(), peer.threads));
        all
    }

    /// Predictions of rrm beside its measurements, by scheduler.
    pub(crate) fn rrm(&self) -> Vec<Rrm> {
        let predicted = self.predicted.iter().flat_map(|part| &part.results);
        let measured = self.measured.iter().flat_map(|part| &part.results);
        let mut all: Vec<Rrm> = Vec::new();
        for row in predicted {
            let time = row.time_cycles.median / row.mhz / 1e3;
            all.push(Rrm {
                scheduler: row.scheduler.clone(),
                predicted: Some(time),
                measured: None,
            });
        }
        for native in measured {
            let time = Some(native.pools_seconds.median * 1e3);
            match all.iter_mut().find(|row| row.scheduler == native.scheduler) {
                Some(row) => row.measured = time,
                None => all.push(Rrm {
                    scheduler: native.scheduler.clone(),
                    predicted: None,
                    measured: time,
                }),
            }
        }
        all
    }
}

/// One scheduler's times of rrm, in milliseconds.
pub(crate) struct Rrm {
    pub(crate) scheduler: String,
    pub(crate) predicted: Option<f64>,
    pub(crate) measured: Option<f64>,
}

/// A document with a list of results.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Results<T> {
    pub(crate) results: Vec<T>,
    /// Of `befit.verify/1`: why programs have no results.
    #[serde(default)]
    pub(crate) failed: Vec<String>,
    /// Of `befit.peers/1`: runtimes that were asked for and are not there.
    #[serde(default)]
    pub(crate) not_built: Vec<NotBuilt>,
}

/// A runtime that is not there.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct NotBuilt {
    pub(crate) runtime: String,
    pub(crate) reason: String,
}

/// A figure of a calibration: what counts of it.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(crate) struct Found {
    pub(crate) value: f64,
}

/// What several runs found.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

/// Of `befit.calibrate/1`. Times are in nanoseconds.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Calibration {
    pub(crate) machine: Option<String>,
    pub(crate) claimed_mhz: f64,
    pub(crate) noisy: Vec<String>,
    pub(crate) mhz: Found,
    pub(crate) mhz_all: Found,
    pub(crate) levels: Vec<Level>,
    pub(crate) memory: Found,
    pub(crate) bandwidth: Vec<(usize, Found)>,
}

/// A cache level.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Level {
    pub(crate) level: u8,
    pub(crate) claimed: f64,
    pub(crate) capacity: Found,
    pub(crate) latency: Found,
}

/// Of `befit.peers/1`, idle pools.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Idle {
    pub(crate) idle: Vec<IdlePool>,
}

/// One workload on one idle pool: per call.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct IdlePool {
    pub(crate) workload: String,
    pub(crate) runtime: String,
    pub(crate) threads: usize,
    pub(crate) cpu_seconds: Spread,
}

/// Of `befit.compare/2`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Predicted {
    pub(crate) scheduler: String,
    pub(crate) mhz: f64,
    pub(crate) time_cycles: Spread,
}

/// Of `befit.run/2`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Native {
    pub(crate) scheduler: String,
    /// What is predicted, too: without what the program does before and after.
    pub(crate) pools_seconds: Spread,
}

/// Of `befit.verify/1`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Verified {
    pub(crate) command: String,
    pub(crate) threads: usize,
    pub(crate) predicted_ms: f64,
    pub(crate) measured_ms: Spread,
    pub(crate) ratio: f64,
    pub(crate) predicted_speed_up: f64,
    pub(crate) measured_speed_up: f64,
}

impl Verified {
    /// Whether the prediction is within 0.8 to 1.25 of what was measured.
    pub(crate) fn is_within(&self) -> bool {
        Verdict::of(self.ratio) == Verdict::Good
    }
}

/// Of `befit.peers/1`, a program on a runtime.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Peer {
    pub(crate) program: String,
    pub(crate) runtime: String,
    pub(crate) threads: usize,
    pub(crate) seconds: Spread,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file with all parts; its figures are made up.
    pub(crate) fn sample() -> Measured {
        Measured::read(include_str!("sample.json")).unwrap()
    }

    /// The same machine, of which nothing but its name came back.
    pub(crate) fn empty() -> Measured {
        Measured {
            calibration: None,
            idle: None,
            predicted: None,
            measured: None,
            verified: None,
            peers: vec![None, None],
            ..sample()
        }
    }

    #[test]
    fn predictions_stand_beside_measurements_of_the_same_scheduler() {
        let rrm = sample().rrm();
        let found: Vec<_> =
            rrm.iter().map(|r| (&r.scheduler[..], (r.predicted, r.measured))).collect();
        let both = |predicted, measured| (Some(predicted), Some(measured));
        assert_eq!(found, [("ws", both(4.0, 5.0)), ("sb", both(3.0, 4.0))]);
        assert!(empty().rrm().is_empty());
        let rrm = Measured { predicted: None, ..sample() }.rrm();
        assert_eq!((rrm.len(), rrm[0].predicted, rrm[0].measured), (2, None, Some(5.0)));
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(sample().missing(), Vec::<String>::new());
        let missing = empty().missing();
        assert_eq!(missing.len(), 7, "{missing:?}");
        assert_eq!(missing[5], "2 of 2 programs beside other runtimes are missing.");
        let mut some = sample();
        some.verified.as_mut().unwrap().failed.push("bst: no memory".to_owned());
        for peers in some.peers.iter_mut().flatten() {
            let (runtime, reason) = ("chili".to_owned(), "it was not built".to_owned());
            peers.not_built.push(NotBuilt { runtime, reason });
        }
        assert_eq!(
            some.missing(),
            [
                "A kernel was not verified: bst: no memory.",
                "The runtime chili is not there: it was not built.",
            ]
        );
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let why = |text: &str| Measured::read(text).unwrap_err().to_string();
        assert!(why("rrm").contains("line 1"), "{}", why("rrm"));
        assert!(why("{}").contains("missing field `schema`"));
        assert!(why(r#"{"schema": "befit.verify/1"}"#).contains("befit.verify/1"));
        let short = r#"{"schema": "befit.machine-measured/1", "model": "x"}"#;
        assert!(why(short).contains("missing field"), "{}", why(short));
    }
}
