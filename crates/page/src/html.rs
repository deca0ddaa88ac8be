//! Text and tables as HTML.

use std::fmt::Write;

/// Text that is shown as it is.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The same, but what stands between backticks is code, and a number stays on one line with what it
/// counts.
pub fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match (at % 2, escape(part)) {
        (0, part) => bind_numbers(&part),
        (_, code) => format!("<code>{code}</code>"),
    });
    parts.collect()
}

/// Puts a space that does not break between a number and what follows.
fn bind_numbers(text: &str) -> String {
    let text = text.replace("T₁ / T∞ ", "T₁\u{a0}/\u{a0}T∞\u{a0}");
    let mut before = [' '; 2];
    let bound = text.chars().map(|c| {
        let [earlier, last] = before;
        // A digit of a name, such as T1, is none of a number.
        let is_number = last.is_ascii_digit() && !earlier.is_alphabetic();
        before = [if last.is_ascii_digit() && earlier.is_alphabetic() { earlier } else { last }, c];
        if c == ' ' && is_number { '\u{a0}' } else { c }
    });
    bound.collect()
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
    let named: Vec<_> = head.iter().filter(|name| !name.is_empty()).map(|n| escape(n)).collect();
    let mut text = format!("<table>\n<tr>{}</tr>\n", cells("th", head));
    for (class, row) in rows {
        let class =
            if class.is_empty() { String::new() } else { format!(" class=\"{}\"", escape(class)) };
        let _ = writeln!(text, "<tr{class}>{}</tr>", cells("td", row)); // cannot fail
    }
    wide(&format!("table of {}", named.join(", ")), &(text + "</table>"))
}

/// HTML that may be wider or longer than there is room, and is then scrolled. `label` says what it
/// is, as HTML.
pub fn wide(label: &str, html: &str) -> String {
    // Keys scroll what has the focus.
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">{html}</div>\n"
    )
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
    fn a_number_stays_with_what_it_counts() {
        let bound = bind_numbers("ws takes 29.2 M cycles on 4 L3s; T1 is 7 and L3 0 is idle");
        let expected =
            "ws takes 29.2\u{a0}M cycles on 4\u{a0}L3s; T1 is 7\u{a0}and L3 0\u{a0}is idle";
        assert_eq!(bound, expected);
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(prose("a < `b & c`."), "a &lt; <code>b &amp; c</code>.");
    }
}
