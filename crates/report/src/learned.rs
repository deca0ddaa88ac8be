//! Learned sizes beside measured ones, as a table, JSON (`befit.learned-sizes/1`) or CSV.

use std::fmt::Write;

use befit_lab::{Errors, LearnedSite, LearnedSizes};

use crate::{Format, ReportError, Width, columns::Columns, csv, json, sizes::bytes, width::end_of};

/// Writes `sizes` as text that ends in a line feed. The table is for reading; JSON is the contract
/// `befit.learned-sizes/1`; CSV has the sites of the JSON, a row each.
///
/// # Errors
/// As [`crate::render`].
pub fn render(sizes: &LearnedSizes, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&tables(sizes, width))),
        Format::Json => json("befit.learned-sizes/1", sizes),
        Format::Csv => csv::render(&sizes.sites),
    }
}

/// The length of a type's name in a table: of a longer one the end is shown.
const LONGEST: usize = 48;

fn tables(sizes: &LearnedSizes, width: Width) -> String {
    let mut text = String::new();
    let LearnedSizes { command, learned_from, machine, sigma, tasks, unknown, .. } = sizes;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{command}, sizes learned from {}", learned_from.join(", "));
    let _ = writeln!(text, "{tasks} tasks, {unknown} of them of sites that the table lacks\n");
    let rows = [("all", sizes.all), ("beyond the smallest caches", sizes.large)];
    let mut columns = Columns::new(&rows, "\ntasks", |(name, _)| (*name).to_owned());
    columns.add("\nnumber", |(_, errors)| errors.tasks.to_string());
    columns.add("error,\nmedian", |(_, errors)| share(errors, errors.median));
    columns.add("90th\npercentile", |(_, errors)| share(errors, errors.tail));
    columns.add("befit the\nsame cache", |(_, errors)| share(errors, errors.same_cache));
    let _ = writeln!(text, "{}", columns.table(width));
    let _ = writeln!(
        text,
        "\nErrors are shares of the measured size; tasks befit caches of {machine}, at sigma \
         {sigma}.\n"
    );
    let mut columns = Columns::new(&sizes.sites, "\nforked at", place);
    columns.add("\ntasks", |site| site.errors.tasks.to_string());
    columns.add("\nlargest", |site| bytes(site.largest));
    columns.add("error,\nmedian", |site| of(site, site.errors.median));
    columns.add("90th\npercentile", |site| of(site, site.errors.tail));
    columns.add("befit the\nsame cache", |site| of(site, site.errors.same_cache));
    let _ = writeln!(text, "{}", columns.table(width));
    text
}

fn place(site: &LearnedSite) -> String {
    let name = site.source.as_ref().unwrap_or(&site.name);
    end_of(name, LONGEST)
}

fn of(site: &LearnedSite, value: f64) -> String {
    if site.known { share(&site.errors, value) } else { "unknown".to_owned() }
}

fn share(errors: &Errors, value: f64) -> String {
    if errors.tasks == 0 { "-".to_owned() } else { format!("{:.1}%", 100.0 * value) }
}
