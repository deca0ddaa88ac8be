//! Text and tables as HTML.

use std::fmt::Write;

/// Text that is shown as it is.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The same, but what stands between backticks is code.
pub fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match (at % 2, escape(part)) {
        (0, part) => part,
        (_, code) => format!("<code>{code}</code>"),
    });
    parts.collect()
}

/// A table. Each row has the class that it is shown in, which may be empty; columns of figures, but
/// not the first column, are aligned to the right.
pub fn table(head: &[String], rows: &[(&str, Vec<String>)]) -> String {
    let is_figure = |cell: &String| {
        let start = cell.chars().next();
        cell == "-" || start.is_none_or(|c| c.is_ascii_digit() || "-+±∞".contains(c))
    };
    let is_right = |column: usize| {
        column > 0 && rows.iter().filter_map(|(_, row)| row.get(column)).all(is_figure)
    };
    let is_right: Vec<bool> = (0..head.len()).map(is_right).collect();
    let cells = |tag: &str, cells: &[String]| -> String {
        let each = cells.iter().enumerate().map(|(column, cell)| {
            let class = if is_right.get(column) == Some(&true) { " class=\"n\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escape(cell))
        });
        each.collect()
    };
    let mut text = format!("<div class=\"wide\"><table>\n<tr>{}</tr>\n", cells("th", head));
    for (class, row) in rows {
        let class =
            if class.is_empty() { String::new() } else { format!(" class=\"{}\"", escape(class)) };
        let _ = writeln!(text, "<tr{class}>{}</tr>", cells("td", row)); // cannot fail
    }
    text + "</table></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_to_the_right_and_rows_have_their_class() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let text = table(&words("1 n x"), &[("", words("7 12 <a>")), ("out", words("8 - 3"))]);
        assert!(text.contains("<tr><th>1</th><th class=\"n\">n</th><th>x</th></tr>"), "{text}");
        assert!(text.contains("<tr><td>7</td><td class=\"n\">12</td><td>&lt;a&gt;</td></tr>"));
        assert!(text.contains("<tr class=\"out\"><td>8</td><td class=\"n\">-</td><td>3</td></tr>"));
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(prose("a < `b & c`."), "a &lt; <code>b &amp; c</code>.");
    }
}
