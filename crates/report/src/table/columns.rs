//! A table built column by column.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with a row for each of `items`.
pub(crate) struct Columns<'a, T> {
    items: &'a [T],
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// So many columns on the left hold names.
    names: usize,
}

impl<'a, T> Columns<'a, T> {
    /// The first column: what each row is called.
    pub(crate) fn new(items: &'a [T], title: &str, name: impl Fn(&T) -> String) -> Self {
        let rows = items.iter().map(|item| vec![name(item)]).collect();
        Self { items, header: vec![title.to_owned()], rows, names: 1 }
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

    pub(crate) fn table(self) -> String {
        let align =
            |i: usize| if i < self.names { CellAlignment::Left } else { CellAlignment::Right };
        let cells = |row: Vec<String>| -> Vec<Cell> {
            row.into_iter()
                .enumerate()
                .map(|(i, text)| Cell::new(text).set_alignment(align(i)))
                .collect()
        };
        let mut table = Table::new();
        table.load_style(STYLE).set_header(cells(self.header));
        for row in self.rows {
            table.add_row(cells(row));
        }
        table.trim_fmt()
    }
}
