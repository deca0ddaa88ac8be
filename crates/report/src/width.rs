//! How wide text may be, and text that is cut into lines of that width.

use unicode_width::UnicodeWidthStr;

/// How wide text may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Width(Option<usize>);

impl Width {
    /// As wide as it becomes: tables have all their columns.
    pub const ANY: Self = Self(None);

    /// At most so many columns of a terminal. Tables leave out what does not fit, and say so.
    pub const fn columns(columns: usize) -> Self {
        Self(Some(columns))
    }

    /// The same, but no more than so many columns.
    pub(crate) fn at_most(self, columns: usize) -> Self {
        Self(Some(self.0.map_or(columns, |most| most.min(columns))))
    }

    /// True if every line of `text` fits.
    pub(crate) fn holds(self, text: &str) -> bool {
        self.0.is_none_or(|most| text.lines().all(|line| line.width() <= most))
    }

    /// `text` with lines that do not fit cut between words. Rows of tables, known by the gaps in
    /// them, stay as they are.
    pub(crate) fn wrap(self, text: &str) -> String {
        let Some(most) = self.0 else { return text.to_owned() };
        text.lines().map(|line| wrap(line, most) + "\n").collect()
    }
}

/// The words of `text` after `head`, in lines that fit. Further lines begin below the first word.
pub(crate) fn beside(head: &str, text: &str, width: Width) -> String {
    let indent = head.width();
    let most = width.0.map_or(usize::MAX, |most| most.saturating_sub(indent).max(20));
    let line = wrap(&text.split_whitespace().collect::<Vec<_>>().join(" "), most);
    format!("{head}{}\n", line.replace('\n', &format!("\n{}", " ".repeat(indent))))
}

/// `text`, or its end after an ellipsis, in `most` columns.
pub(crate) fn end_of(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let ends = text.char_indices().map(|(at, _)| &text[at..]);
    let mut fitting = ends.skip_while(|end| end.width() + 1 > most);
    format!("…{}", fitting.next().unwrap_or_default())
}

fn wrap(line: &str, most: usize) -> String {
    if line.width() <= most || line.trim_start().contains("  ") || line.contains('─') {
        return line.to_owned();
    }
    let indent = &line[..line.len() - line.trim_start().len()];
    let mut lines: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= most => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_between_words_and_rows_of_tables_are_not() {
        let text = "  one two three\na  row of a table\nshort\n";
        let cut = "  one two\n  three\na  row of a table\nshort\n";
        assert_eq!(Width::columns(10).wrap(text), cut);
        assert_eq!(Width::ANY.wrap(text), text);
    }

    #[test]
    fn a_text_goes_on_below_its_first_word() {
        let narrow = Width::columns(24);
        let text = beside("ab  ", "a text of several words", narrow);
        assert_eq!(text, "ab  a text of several\n    words\n");
        assert_eq!(beside("ab  ", "a text", Width::ANY), "ab  a text\n");
    }

    #[test]
    fn width_is_counted_in_columns() {
        assert!(Width::columns(2).holds("T₁\n∞") && !Width::columns(2).holds("abc"));
        assert!(Width::columns(4).holds("並列") && !Width::columns(3).holds("並列"));
        assert!(Width::columns(1).holds("e\u{301}"));
        assert!(Width::ANY.holds(&"a".repeat(1000)));
    }

    #[test]
    fn of_a_long_name_the_end_is_shown_in_so_many_columns() {
        assert_eq!(end_of("src/main.rs:3", 13), "src/main.rs:3");
        assert_eq!(end_of("src/main.rs:3", 12), "…c/main.rs:3");
        assert_eq!(end_of("並列/main.rs", 11), "…列/main.rs");
        assert_eq!(end_of("並列/main.rs", 10), "…/main.rs");
    }
}
