//! The page of predictions beside measurements.

use befit_lab::{Verified, VerifyResult};
use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series};

use super::paragraph;

/// Predicted and measured times, and their ratios.
pub fn page(verified: &Verified) -> Page {
    let results = &verified.results[..];
    let line = format!(
        "Predicted on {}, its figures: {}. {} of {} ratios are within 0.8 to 1.25, {} outside of \
         0.67 to 1.5.",
        verified.machine.name,
        verified.machine.figures,
        verified.within,
        results.len(),
        verified.far
    );
    let parts = vec![paragraph(&line), Part::Plot(times(results)), Part::Plot(ratios(results))];
    Page { title: "predicted and measured times".to_owned(), parts }
}

fn name(result: &VerifyResult) -> String {
    format!("{}, {} on {}", result.program, result.scheduler, result.threads)
}

fn times(results: &[VerifyResult]) -> Plot {
    let predicted = results.iter().map(|r| {
        let spread = &r.predicted_spread;
        Point::with_range(name(r), r.predicted, spread.min, spread.max)
    });
    let measured = results
        .iter()
        .map(|r| Point::with_range(name(r), r.measured.median, r.measured.min, r.measured.max));
    let series = [Series::new("predicted", predicted), Series::new("measured", measured)];
    let x = Axis::linear("program, scheduler on threads");
    Plot::new("Times", PlotKind::Bars, x, "ms", series)
}

fn ratios(results: &[VerifyResult]) -> Plot {
    let points = results.iter().map(|r| (name(r), r.ratio));
    let series = [Series::new("predicted / measured", points)];
    let x = Axis::linear("program, scheduler on threads");
    Plot::new("Ratios", PlotKind::Bars, x, "predicted / measured", series)
}
