//! Tables, built column by column, and the numbers in them as people read them.

use befit_lab::Interval;
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use crate::Width;

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with a row for each of `items`.
pub(crate) struct Columns<'a, T> {
    items: &'a [T],
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The columns that are left out first, where not all fit.
    minor: Vec<usize>,
    /// The number of columns on the left that hold names.
    names: usize,
}

impl<'a, T> Columns<'a, T> {
    /// The first column: the name of each row.
    pub(crate) fn new(items: &'a [T], title: &str, name: impl Fn(&T) -> String) -> Self {
        let rows = items.iter().map(|item| vec![name(item)]).collect();
        Self { items, header: vec![title.to_owned()], rows, minor: Vec::new(), names: 1 }
    }

    pub(crate) fn items(&self) -> &'a [T] {
        self.items
    }

    /// A further column of names; before any other column.
    pub(crate) fn name(&mut self, title: &str, cell: impl Fn(&T) -> String) {
        self.names += 1;
        self.add(title, cell);
    }

    /// A column of figures.
    pub(crate) fn add(&mut self, title: &str, cell: impl Fn(&T) -> String) {
        self.header.push(title.to_owned());
        for (row, item) in self.rows.iter_mut().zip(self.items) {
            row.push(cell(item));
        }
    }

    /// A column of figures that is left out before others, where not all fit.
    pub(crate) fn minor(&mut self, title: &str, cell: impl Fn(&T) -> String) {
        self.minor.push(self.header.len());
        self.add(title, cell);
    }

    /// A column of cells that compare with the first row, whose cell is `base`.
    pub(crate) fn compared(&mut self, base: impl ToString, cell: impl Fn(&T) -> String) {
        let first = &self.items[0];
        self.add(&format!("vs\n{}", base.to_string()), |item| {
            if std::ptr::eq(item, first) { "base".to_owned() } else { cell(item) }
        });
    }

    /// A column of changes against the first row, which is called `base`.
    pub(crate) fn versus(&mut self, base: impl ToString, of: impl Fn(&T) -> u64) {
        let first = &self.items[0];
        self.compared(base, |item| change(of(first), of(item)));
    }

    /// The table with two spaces between columns, one less than usual.
    pub(crate) fn narrow(self, width: Width) -> String {
        self.within(width, (1, 0))
    }

    pub(crate) fn table(self, width: Width) -> String {
        self.within(width, (1, 1))
    }

    /// The table in `width` columns of the terminal: from the right, minor columns are left out
    /// first, then others, but one figure stays. A last line names what is missing.
    fn within(mut self, width: Width, padding: (u16, u16)) -> String {
        let mut table = self.padded(padding);
        let titles = self.header.clone();
        let mut left: Vec<usize> = (0..titles.len()).collect();
        while !width.holds(&table) && self.header.len() > self.names + 1 {
            let at = self.minor.pop().unwrap_or(self.header.len() - 1);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
            self.header.remove(at);
            left.remove(at);
            table = self.padded(padding);
        }
        if left.len() == titles.len() {
            return table;
        }
        let titles = titles.iter().enumerate().filter(|(at, _)| !left.contains(at));
        let missing: Vec<_> = titles.map(|(_, title)| title.trim().replace('\n', " ")).collect();
        let line = format!("not shown without --wide: {}", missing.join("; "));
        format!("{table}\n{}", width.wrap(&line).trim_end())
    }

    fn padded(&self, padding: (u16, u16)) -> String {
        let align =
            |i: usize| if i < self.names { CellAlignment::Left } else { CellAlignment::Right };
        let cells = |row: &[String]| -> Vec<Cell> {
            row.iter()
                .enumerate()
                .map(|(i, text)| Cell::new(text).set_alignment(align(i)))
                .collect()
        };
        let mut table = Table::new();
        table.load_style(STYLE).set_header(cells(&self.header));
        for row in &self.rows {
            table.add_row(cells(row));
        }
        table.column_iter_mut().for_each(|column| {
            column.set_padding(padding);
        });
        table.trim_fmt()
    }
}

/// Four digits of a number that is not negative.
pub(crate) fn digits(number: f64) -> String {
    format!("{number:.*}", decimals(number.max(1e-3)))
}

/// Decimals that show four digits of `largest`.
pub(crate) fn decimals(largest: f64) -> usize {
    (3 - largest.log10().floor() as i32).clamp(0, 6) as usize
}

/// Shows counts in millions, all with the same number of decimals: four digits of the largest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    decimals: usize,
}

impl Scale {
    pub(crate) fn millions(values: impl Iterator<Item = u64>) -> Self {
        Self { decimals: decimals(values.max().unwrap_or(0).max(1) as f64 / 1e6) }
    }

    pub(crate) fn show(self, value: u64) -> String {
        match value {
            0 => "0".to_owned(),
            _ => format!("{:.*}", self.decimals, value as f64 / 1e6),
        }
    }
}

/// The change from `base` to `value`, signed: `-42.1%`; `-` where there is nothing to compare with.
fn change(base: u64, value: u64) -> String {
    match (base, value) {
        (0, 0) => "0.0%".to_owned(),
        (0, _) => "-".to_owned(),
        _ => {
            let percent = (value as f64 / base as f64 - 1.0) * 100.0;
            // Without the sign where the rounded figure is zero: -0.0% reads like a gain.
            if percent.abs() < 0.05 { "0.0%".to_owned() } else { format!("{percent:+.1}%") }
        }
    }
}

/// A ratio as a change with its 95 % interval: `-28.7% ±1.2`, both in percent of the baseline.
/// `no difference ±1.8` where the interval contains 1; `-` where it is not known.
pub(crate) fn against(ratio: Option<Interval>) -> String {
    let Some(ratio) = ratio else { return "-".to_owned() };
    let give = format!("±{:.1}", 100.0 * ratio.half());
    if ratio.differs() {
        format!("{:+.1}% {give}", 100.0 * (ratio.estimate - 1.0))
    } else {
        format!("no difference {give}")
    }
}

/// A share of 0 to 1 as percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Bytes in MiB.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_show_four_digits_of_the_largest() {
        let show = |largest: u64, value: u64| Scale::millions([largest].into_iter()).show(value);
        assert_eq!(show(47_530_000, 28_105_000), "28.11");
        assert_eq!(show(155_300_000, 9_000_000), "9.0");
        assert_eq!(show(12_300, 12_300), "0.01230");
        assert_eq!(show(3_000_000_000_000, 5_000_000), "5");
        assert_eq!(show(0, 0), "0");
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_minor_ones_first_and_named() {
        let rows = ["ws", "sb"];
        let table = |columns: usize| {
            let mut table = Columns::new(&rows, "scheduler", |row| (*row).to_owned());
            table.add("time", |_| "12.5".to_owned());
            table.minor("policy,\nms", |_| "0.1".to_owned());
            table.add("idle", |_| "3.1".to_owned());
            table.table(if columns == 0 { Width::ANY } else { Width::columns(columns) })
        };
        let whole = table(0);
        assert!(whole.contains("idle") && !whole.contains("--wide"), "{whole}");
        let less = table(28);
        assert!(less.contains("  time   idle\n") && less.contains("policy, ms"), "{less}");
        assert!(Width::columns(28).holds(&less), "{less}");
        assert!(table(20).ends_with("without\n--wide: policy, ms;\nidle"), "{}", table(20));
        assert!(table(3).contains("12.5"), "one figure stays");
    }

    #[test]
    fn a_change_has_its_sign_and_zero_has_none() {
        assert_eq!(change(100, 58), "-42.0%");
        assert_eq!(change(100, 158), "+58.0%");
        assert_eq!(change(1_000_000, 999_999), "0.0%");
        assert_eq!(change(0, 0), "0.0%");
        assert_eq!(change(0, 5), "-");
    }

    #[test]
    fn an_interval_is_shown_by_its_half_and_says_where_there_is_no_difference() {
        let against = |estimate, low, high| against(Some(Interval { estimate, low, high }));
        assert_eq!(against(0.713, 0.701, 0.725), "-28.7% ±1.2");
        assert_eq!(against(1.05, 1.01, 1.09), "+5.0% ±4.0");
        assert_eq!(against(0.99, 0.97, 1.01), "no difference ±2.0");
        assert_eq!(against(1.0, 1.0, 1.0), "no difference ±0.0");
        assert_eq!(super::against(None), "-");
    }
}
