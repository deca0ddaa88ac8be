//! The text form of a table: `befit.sizes/2`.
//!
//! A line is a word and what it says; lines that are empty or begin with `#` say nothing. A `site`
//! line begins a site, to which the lines behind it belong.

use std::{fmt, fs::File, io::Read, ops::RangeInclusive, path::Path, str::FromStr};

use befit_machine::Bytes;

use super::{Depth, Factor, Law, Site, SiteKey, SizeTable, Term, Word};

/// What the first line begins with, in all versions.
const FORMAT: &str = "befit.sizes/";
/// The first line.
const VERSION: &str = "befit.sizes/2";
/// Errors and spreads, as shares.
const SHARE_OF_ERROR: RangeInclusive<f64> = 0.0..=1e9;
/// Picoseconds of an operation.
pub(super) const PICOSECONDS: RangeInclusive<f64> = 1e-3..=1e9;
/// Most characters of a word that a message repeats.
const SHOWN: usize = 40;

/// Why a text is no table of sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeTableError {
    /// The line, counted from 1; 0 where no line is to blame.
    pub line: usize,
    /// The mistake in it.
    pub what: String,
}

impl fmt::Display for SizeTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for SizeTableError {}

impl SizeTable {
    /// Reads the table in the file at `path`. Of a file that is too long no more is read than shows
    /// that.
    ///
    /// # Errors
    /// When the file cannot be read; else as [`FromStr`].
    pub fn load(path: &Path) -> Result<Self, SizeTableError> {
        let mut bytes = Vec::new();
        let file = File::open(path).map(|file| file.take(SizeTable::LONGEST as u64 + 1));
        file.and_then(|mut file| file.read_to_end(&mut bytes)).map_err(|error| SizeTableError {
            line: 0,
            what: format!("cannot be read: {error}"),
        })?;
        match str::from_utf8(&bytes) {
            Ok(text) => text.parse(),
            Err(_) if bytes.len() > SizeTable::LONGEST => Err(too_long()),
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                Err(SizeTableError { line, what: "is no UTF-8 text".to_owned() })
            }
        }
    }
}

fn too_long() -> SizeTableError {
    SizeTableError { line: 0, what: format!("longer than {} bytes", SizeTable::LONGEST) }
}

impl FromStr for SizeTable {
    type Err = SizeTableError;

    /// Time O(text).
    ///
    /// # Errors
    /// Names the first line that cannot be read, and what is wrong with it.
    fn from_str(text: &str) -> Result<Self, SizeTableError> {
        let wrong = |line, what| SizeTableError { line, what };
        if text.len() > SizeTable::LONGEST {
            return Err(too_long());
        }
        let mut table = Self::default();
        let mut lines = text.lines().zip(1..);
        first_line(lines.next().map_or("", |(line, _)| line)).map_err(|what| wrong(1, what))?;
        let mut site: Option<(usize, Site)> = None;
        let mut ended = false;
        for (line, number) in lines {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if ended {
                return Err(wrong(number, "stands behind the end".to_owned()));
            }
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.trim_start();
            ended = word == "end";
            if (ended || word == "site")
                && let Some((began, whole)) = site.take()
            {
                table.insert(whole).map_err(|what| wrong(began, what))?;
            }
            let read = match (word, &mut site) {
                ("site", _) => begin(rest).map(|next| site = Some((number, next))),
                ("end", _) => end(&table, rest),
                (_, Some((_, site))) => field(site, word, rest),
                (_, None) => head(&mut table, word, rest),
            };
            read.map_err(|what| wrong(number, what))?;
        }
        if !ended {
            let last = text.lines().count().max(1);
            return Err(wrong(last, "the file is cut off: it has no line `end`".to_owned()));
        }
        Ok(table)
    }
}

fn first_line(line: &str) -> Result<(), String> {
    let line = line.trim_end();
    let found = match line {
        VERSION => return Ok(()),
        other if other.starts_with(FORMAT) => format!("`{}`", start(other)),
        _ => "something else".to_owned(),
    };
    Err(format!("should be `{VERSION}`, is {found}; write the file anew with `befit learn`"))
}

/// A line in front of all sites.
fn head(table: &mut SizeTable, word: &str, rest: &str) -> Result<(), String> {
    match word {
        "recorded" => table.recorded.push(line_of(rest)?),
        "memory" => table.memory = Some(Bytes(whole(rest, Law::MOST)?)),
        "picoseconds" => table.picoseconds = Some(figure(rest, PICOSECONDS)?),
        _ => return Err(format!("`{}` is no word of this format", start(word))),
    }
    Ok(())
}

/// `site 0123456789abcdef the::name`.
fn begin(rest: &str) -> Result<Site, String> {
    let (key, name) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_key = key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(key, 16).ok().filter(|_| is_key);
    let number = number.ok_or_else(|| {
        format!("a site is named by 16 hexadecimal digits, not by `{}`", start(key))
    })?;
    Ok(Site::new(SiteKey(number), &line_of(name)?))
}

/// A line of a site.
fn field(site: &mut Site, word: &str, rest: &str) -> Result<(), String> {
    match word {
        "source" => site.source = line_of(rest)?,
        "tasks" => site.tasks = whole(rest, u64::MAX)?,
        "size" => site.size = law(rest)?,
        "strand" => site.strand = law(rest)?,
        "work" => site.work = law(rest)?,
        "error" => {
            let (median, tail) = rest.split_once(' ').ok_or("an error is two figures")?;
            site.error = Some([figure(median, SHARE_OF_ERROR)?, figure(tail, SHARE_OF_ERROR)?]);
        }
        "depth" => {
            let (place, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            if whole(place, u64::MAX)? != site.depths.len() as u64 {
                return Err(format!(
                    "depths are listed from 0, none left out: {} is next",
                    site.depths.len()
                ));
            }
            site.depths.push(depth(rest)?);
        }
        _ => return Err(format!("`{}` is no word of a site", start(word))),
    }
    Ok(())
}

/// `tasks 8 size 2097152 spread 0.03 strand 4096 work 52000`.
fn depth(text: &str) -> Result<Depth, String> {
    let mut words = text.split_ascii_whitespace();
    let mut next = |name: &str| match (words.next(), words.next()) {
        (Some(word), Some(value)) if word == name => Ok(value),
        _ => Err(format!("a depth has `{name}` with a figure")),
    };
    let depth = Depth {
        tasks: whole(next("tasks")?, u64::MAX)?,
        size: Bytes(whole(next("size")?, Law::MOST)?),
        spread: figure(next("spread")?, SHARE_OF_ERROR)?,
        strand: Bytes(whole(next("strand")?, Law::MOST)?),
        work: whole(next("work")?, Law::MOST)?,
    };
    match words.next() {
        Some(more) => Err(format!("`{}` stands behind a depth's figures", start(more))),
        None => Ok(depth),
    }
}

/// `end 12`: how many sites there are.
fn end(table: &SizeTable, rest: &str) -> Result<(), String> {
    let (stated, found) = (whole(rest, u64::MAX)?, table.sites.len() as u64);
    if stated != found {
        return Err(format!("the file should have {stated} sites, and has {found}"));
    }
    Ok(())
}

/// `by depth`, `0.5 of the parent`, or a sum: `64 + 16 w1 + 8 w0.2 (w3-w2)^0.5 / w4`.
fn law(text: &str) -> Result<Law, String> {
    if text == "by depth" {
        return Ok(Law::ByDepth);
    }
    if let Some(share) = text.strip_suffix(" of the parent") {
        return Ok(Law::Share(figure(share, 0.0..=1.0)?));
    }
    let terms: Vec<_> = text.split(" + ").map(term).collect::<Result<_, _>>()?;
    Ok(Law::Words(terms))
}

fn term(text: &str) -> Result<Term, String> {
    let words: Vec<_> = text.split_ascii_whitespace().collect();
    let slash = words.iter().position(|word| *word == "/").unwrap_or(words.len());
    let (product, divisor) = words.split_at(slash);
    let mut product = product.iter();
    let coefficient = figure(product.next().unwrap_or(&""), 0.0..=Term::LARGEST)?;
    let mut factors = [None; Term::MOST_FACTORS];
    let mut places = factors.iter_mut();
    for word in product {
        let place = places
            .next()
            .ok_or_else(|| format!("a term has at most {} factors", Term::MOST_FACTORS))?;
        *place = Some(factor(word)?);
    }
    let divisor = match divisor {
        [] => None,
        [_, rest @ ..] => Some(factor(rest.first().unwrap_or(&""))?),
    };
    match words.get(slash + 2) {
        Some(more) => Err(format!("`{}` stands behind a term's divisor", start(more))),
        None => Ok(Term { coefficient, factors, divisor }),
    }
}

/// `w1`, `w1^1.5`, `(w3-w2)`, `(w3-w2)^2`.
fn factor(text: &str) -> Result<Factor, String> {
    let wrong = || {
        format!(
            "`{}` is no captured word `w0` to `w{}`, nor one behind such (`w0.1`), nor a \
             power or a difference of such",
            start(text),
            Word::WIDTH - 1
        )
    };
    let (base, exponent) = text.split_once('^').unwrap_or((text, "1"));
    let inside = base.strip_prefix('(').and_then(|base| base.strip_suffix(')'));
    let (word, minus) = match inside.and_then(|base| base.split_once('-')) {
        Some((word, minus)) => (Word::parse(word), Some(Word::parse(minus).ok_or_else(wrong)?)),
        None => (Word::parse(base), None),
    };
    let quarters = exponent.parse::<f64>().map_or(0.0, |exponent| 4.0 * exponent);
    let most = f64::from(Factor::MOST_QUARTERS);
    if quarters.fract() != 0.0 || !(1.0..=most).contains(&quarters) {
        return Err(no_exponent(exponent));
    }
    Ok(Factor { word: word.ok_or_else(wrong)?, minus, quarters: quarters as u8 })
}

fn no_exponent(found: &str) -> String {
    let most = f64::from(Factor::MOST_QUARTERS) / 4.0;
    format!("an exponent is a multiple of 0.25 up to {most}, not `{}`", start(found))
}

/// A whole number of digits.
fn whole(text: &str, most: u64) -> Result<u64, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && *number <= most);
    number.ok_or_else(|| format!("`{}` is no whole number up to {most}", start(text)))
}

/// A number in a range.
fn figure(text: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = text.parse().ok().filter(|number| plain && range.contains(number));
    number.ok_or_else(|| no_figure(start(text), &range))
}

fn no_figure(found: impl fmt::Display, range: &RangeInclusive<f64>) -> String {
    format!("`{found}` is no number from {} to {}", range.start(), range.end())
}

/// Text for people, on one line.
fn line_of(text: &str) -> Result<String, String> {
    if text.len() > SiteKey::NAME_LIMIT {
        return Err(format!("a name has at most {} bytes", SiteKey::NAME_LIMIT));
    }
    if text.chars().any(char::is_control) {
        return Err("a name has no control characters".to_owned());
    }
    Ok(text.to_owned())
}

/// The beginning of a text, for a message.
fn start(text: &str) -> String {
    let mut start: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        start.push('…');
    }
    start
}

/// What a site must be to be written and read again.
pub(super) fn check(site: &Site) -> Result<(), String> {
    let laws = [&site.size, &site.strand, &site.work];
    if site.depths.is_empty() && laws.contains(&&Law::ByDepth) {
        return Err("a law is by depth, but there are no lines `depth`".to_owned());
    }
    let shares = |law: &Law| matches!(law, Law::Share(_));
    if shares(&site.strand) || shares(&site.work) || shares(&site.size) && site.depths.is_empty() {
        return Err("only a size is a share of the parent's, and has lines `depth`".to_owned());
    }
    if site.depths.len() > Site::MOST_DEPTHS {
        return Err(format!("more than {} depths", Site::MOST_DEPTHS));
    }
    for law in laws {
        let Law::Words(terms) = law else { continue };
        if terms.is_empty() || terms.len() > Law::MOST_TERMS {
            return Err(format!("a sum has 1 to {} terms", Law::MOST_TERMS));
        }
    }
    check_figures(site)
}

/// Whether [`figure`], [`whole`] and [`factor`] read all that is written of a site.
fn check_figures(site: &Site) -> Result<(), String> {
    let figure = |value: f64, range: RangeInclusive<f64>| {
        // -0 is written with its sign.
        let is_read = range.contains(&value) && value.is_sign_positive();
        if is_read { Ok(()) } else { Err(no_figure(value, &range)) }
    };
    for law in [&site.size, &site.strand, &site.work] {
        let terms = match law {
            Law::Words(terms) => terms,
            Law::Share(share) => {
                figure(*share, 0.0..=1.0)?;
                continue;
            }
            Law::ByDepth => continue,
        };
        for Term { coefficient, factors, divisor } in terms {
            figure(*coefficient, 0.0..=Term::LARGEST)?;
            let mut factors = factors.iter().chain([divisor]).flatten();
            let is_wrong = |it: &&Factor| !(1..=Factor::MOST_QUARTERS).contains(&it.quarters);
            if let Some(wrong) = factors.find(is_wrong) {
                return Err(no_exponent(&(f64::from(wrong.quarters) / 4.0).to_string()));
            }
        }
    }
    for error in site.error.iter().flatten() {
        figure(*error, SHARE_OF_ERROR)?;
    }
    for depth in &site.depths {
        figure(depth.spread, SHARE_OF_ERROR)?;
        let whole = [depth.size.0, depth.strand.0, depth.work];
        if let Some(wrong) = whole.into_iter().find(|number| *number > Law::MOST) {
            return Err(format!("`{wrong}` is no whole number up to {}", Law::MOST));
        }
    }
    Ok(())
}

impl fmt::Display for SizeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{VERSION}")?;
        for command in &self.recorded {
            writeln!(f, "recorded {command}")?;
        }
        if let Some(picoseconds) = self.picoseconds {
            writeln!(f, "picoseconds {picoseconds}")?;
        }
        if let Some(Bytes(memory)) = self.memory {
            writeln!(f, "memory {memory}")?;
        }
        for site in &self.sites {
            write!(f, "\n{site}")?;
        }
        writeln!(f, "\nend {}", self.sites.len())
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = if self.name.is_empty() { "" } else { " " };
        writeln!(f, "site {:016x}{named}{}", self.key.0, self.name)?;
        if !self.source.is_empty() {
            writeln!(f, "source {}", self.source)?;
        }
        writeln!(f, "tasks {}", self.tasks)?;
        writeln!(f, "size {}\nstrand {}\nwork {}", self.size, self.strand, self.work)?;
        if let Some([median, tail]) = self.error {
            writeln!(f, "error {median} {tail}")?;
        }
        for (number, depth) in self.depths.iter().enumerate() {
            let Depth { tasks, size, spread, strand, work } = depth;
            writeln!(
                f,
                "depth {number} tasks {tasks} size {} spread {spread} strand {} work {work}",
                size.0, strand.0
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = match self {
            Self::Words(terms) => terms,
            Self::Share(share) => return write!(f, "{share} of the parent"),
            Self::ByDepth => return f.write_str("by depth"),
        };
        for (number, term) in terms.iter().enumerate() {
            let plus = if number == 0 { "" } else { " + " };
            write!(f, "{plus}{}", term.coefficient)?;
            term.factors.iter().flatten().try_for_each(|factor| write!(f, " {factor}"))?;
            term.divisor.iter().try_for_each(|divisor| write!(f, " / {divisor}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minus {
            Some(minus) => write!(f, "({}-{minus})", self.word)?,
            None => write!(f, "{}", self.word)?,
        }
        match self.quarters {
            4 => Ok(()),
            quarters => write!(f, "^{}", f64::from(quarters) / 4.0),
        }
    }
}
