//! What notebooks show: small tables and bars, in HTML that needs nothing else.

use std::fmt::Write;

/// A bar of a length from 0 to 1.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) length: f64,
    pub(crate) text: String,
}

/// Text as it is, in HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A table of names and values.
pub(crate) fn table(title: &str, rows: &[(&str, String)]) -> String {
    let mut text = format!("<table><caption>{}</caption>", escaped(title));
    for (name, value) in rows {
        // Writing to a String cannot fail.
        let _ = write!(text, "<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(value));
    }
    text + "</table>"
}

/// Bars below one another, as a picture.
pub(crate) fn bars(title: &str, bars: &[Bar]) -> String {
    const ROW: usize = 20;
    const LEFT: usize = 100;
    const WIDTH: f64 = 300.0;
    let height = ROW * (bars.len() + 1);
    let mut text = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='620' height='{height}' \
         font-family='sans-serif' font-size='12'><text x='0' y='14' fill='currentColor' \
         font-weight='bold'>{}</text>",
        escaped(title)
    );
    for (at, bar) in bars.iter().enumerate() {
        let (top, end) = (ROW * (at + 1), bar.length.clamp(0.0, 1.0) * WIDTH);
        let (base, after) = (top + 14, LEFT as f64 + end + 6.0);
        let (name, value) = (escaped(&bar.name), escaped(&bar.text));
        let _ = write!(
            text,
            "<text x='0' y='{base}' fill='currentColor'>{name}</text>\
             <rect x='{LEFT}' y='{}' width='{end:.1}' height='14' fill='#4c78a8'/>\
             <text x='{after:.1}' y='{base}' fill='currentColor'>{value}</text>",
            top + 3
        );
    }
    text + "</svg>"
}
