//! What a user may set on a policy.
//!
//! Each front (command line, environment, pool builder) reads, checks and prints options by their
//! table, [`Options::TABLE`]. A new option is a field, its default, and an entry there; only the
//! pool builder has a method for each besides.

use std::{fmt, str::FromStr};

/// What a user may set on a policy. The defaults are those of Simhadri et al. (2016).
///
/// Options print and parse as `name=value`, separated by commas; those that are not named have
/// their defaults.
///
/// ```
/// use befit_sched::Options;
///
/// let options: Options = "sigma=0.25,boundary=6".parse()?;
/// assert_eq!(options, Options { sigma: 0.25, boundary: 6, ..Options::default() });
/// assert_eq!(
///     options.to_string(),
///     "sigma=0.25,mu=0.2,counting=capped,nearness=10,branching=2,boundary=6"
/// );
/// # Ok::<(), befit_sched::OptionError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Dilation σ, 0 < σ ≤ 1: a task befits the smallest cache M with S ≤ σM.
    pub sigma: f64,
    /// μ, 0 < μ ≤ 1: the share of a cache that one passing strand may claim.
    pub mu: f64,
    /// How space-bounded policies count a strand that passes through a cache.
    pub counting: Counting,
    /// How many times likelier pws picks a victim under the same last-level cache.
    pub nearness: u32,
    /// How many children a task has, for cab.
    pub branching: u32,
    /// The depth at which hws begins its subtrees: forks from the root.
    pub boundary: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sigma: 0.5,
            mu: 0.2,
            counting: Counting::Capped,
            nearness: 10,
            branching: 2,
            boundary: 4,
        }
    }
}

impl Options {
    /// All options.
    pub const TABLE: &'static [PolicyOption] = &[
        PolicyOption {
            name: "sigma",
            variable: "BEFIT_SIGMA",
            value_name: "SIGMA",
            help: "Dilation of the space-bounded schedulers, above 0 and at most 1: a task befits \
                   a cache of size M if it is no larger than sigma x M",
            field: Field::Share(|options| &mut options.sigma),
        },
        PolicyOption {
            name: "mu",
            variable: "BEFIT_MU",
            value_name: "MU",
            help: "The share of a cache that one passing strand may claim under the \
                   space-bounded schedulers, above 0 and at most 1",
            field: Field::Share(|options| &mut options.mu),
        },
        PolicyOption {
            name: "counting",
            variable: "BEFIT_COUNTING",
            value_name: "COUNTING",
            help: "How strands that pass through a cache count under the space-bounded \
                   schedulers: `capped` (at mu of it) or in `full`",
            field: Field::Counting(|options| &mut options.counting),
        },
        PolicyOption {
            name: "nearness",
            variable: "BEFIT_NEARNESS",
            value_name: "TIMES",
            help: "How many times likelier `pws` picks a victim under the same last-level cache",
            field: Field::Count(1, |options| &mut options.nearness),
        },
        PolicyOption {
            name: "branching",
            variable: "BEFIT_BRANCHING",
            value_name: "COUNT",
            help: "How many children a task has, for `cab`, which computes from it at which \
                   depth to cut",
            field: Field::Count(2, |options| &mut options.branching),
        },
        PolicyOption {
            name: "boundary",
            variable: "BEFIT_BOUNDARY",
            value_name: "DEPTH",
            help: "The depth at which `hws` cuts, in forks from the program's start",
            field: Field::Count(0, |options| &mut options.boundary),
        },
    ];

    /// Sets the option `name` to what `text` says.
    ///
    /// # Errors
    /// There is no such option, or it cannot have this value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), OptionError> {
        let Some(option) = Self::TABLE.iter().find(|option| option.name == name) else {
            let known: Vec<_> = Self::TABLE.iter().map(|option| option.name).collect();
            let what = format!("there is no such option; known: {}", known.join(", "));
            return Err(OptionError { name: name.to_owned(), what });
        };
        option.set(self, text)
    }

    /// Checks that each value is in its option's range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OptionError> {
        // What is out of range prints, but does not parse.
        let mut parsed = *self;
        Self::TABLE.iter().try_for_each(|option| option.set(&mut parsed, &option.print(self)))
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each =
            Self::TABLE.iter().map(|option| format!("{}={}", option.name, option.print(self)));
        f.write_str(&each.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Options {
    type Err = OptionError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut options = Self::default();
        for one in text.split(',').filter(|one| !one.trim().is_empty()) {
            let (name, value) = one.split_once('=').unwrap_or((one, ""));
            options.set(name.trim(), value.trim())?;
        }
        Ok(options)
    }
}

/// One of the [`Options`], as users meet it.
#[derive(Debug)]
pub struct PolicyOption {
    /// As on the command line, after two dashes.
    pub name: &'static str,
    /// The variable of the environment that sets it for pools.
    pub variable: &'static str,
    /// What a value is called in a synopsis.
    pub value_name: &'static str,
    /// One sentence on what it does.
    pub help: &'static str,
    field: Field,
}

/// Where an option's value is, and which values it may have.
#[derive(Debug)]
enum Field {
    /// A number above 0 and at most 1.
    Share(fn(&mut Options) -> &mut f64),
    /// A whole number from this one up.
    Count(u32, fn(&mut Options) -> &mut u32),
    Counting(fn(&mut Options) -> &mut Counting),
}

impl PolicyOption {
    /// Which values it may have.
    pub fn range(&self) -> String {
        match self.field {
            Field::Share(_) => "a number above 0 and at most 1".to_owned(),
            Field::Count(least, _) => format!("a whole number from {least} up"),
            Field::Counting(_) => Counting::ALL.map(Counting::name).join(" or "),
        }
    }

    /// Its value in `options`, as [`Self::set`] takes it.
    pub fn print(&self, options: &Options) -> String {
        let mut options = *options;
        match self.field {
            Field::Share(of) => of(&mut options).to_string(),
            Field::Count(_, of) => of(&mut options).to_string(),
            Field::Counting(of) => of(&mut options).name().to_owned(),
        }
    }

    /// Sets it in `options` to what `text` says.
    ///
    /// # Errors
    /// It cannot have this value.
    pub fn set(&self, options: &mut Options, text: &str) -> Result<(), OptionError> {
        let taken = match self.field {
            Field::Share(of) => {
                let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
                share.map(|share| *of(options) = share)
            }
            Field::Count(least, of) => {
                let count = text.parse().ok().filter(|count| *count >= least);
                count.map(|count| *of(options) = count)
            }
            Field::Counting(of) => {
                let counting = Counting::ALL.into_iter().find(|counting| counting.name() == text);
                counting.map(|counting| *of(options) = counting)
            }
        };
        taken.ok_or_else(|| OptionError {
            name: self.name.to_owned(),
            what: format!("'{text}' is not {}", self.range()),
        })
    }
}

/// An option cannot be set so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError {
    /// The option's name.
    pub name: String,
    /// What is wrong, and what is known instead.
    pub what: String,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

impl std::error::Error for OptionError {}

/// Options of which some are chosen. The others have their defaults, until another front chooses.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OptionChoices {
    options: Options,
    /// In the order of [`Options::TABLE`].
    chosen: [bool; Options::TABLE.len()],
}

impl OptionChoices {
    /// Chooses the option `name`, which `set` sets. The value is not checked.
    pub fn choose(&mut self, name: &str, set: impl FnOnce(&mut Options)) {
        set(&mut self.options);
        for (chosen, option) in self.chosen.iter_mut().zip(Options::TABLE) {
            *chosen |= option.name == name;
        }
    }

    /// Chooses what `text` says for `option`.
    ///
    /// # Errors
    /// It cannot have this value.
    pub fn parse(&mut self, option: &PolicyOption, text: &str) -> Result<(), OptionError> {
        let mut options = self.options;
        option.set(&mut options, text)?;
        self.choose(option.name, |chosen| *chosen = options);
        Ok(())
    }

    /// The options that are chosen, each with its value as text.
    pub fn chosen(&self) -> impl Iterator<Item = (&'static PolicyOption, String)> {
        let chosen = Options::TABLE.iter().zip(self.chosen).filter(|(_, chosen)| *chosen);
        let options = self.options;
        chosen.map(move |(option, _)| (option, option.print(&options)))
    }

    /// The options that nobody has chosen.
    pub fn open(&self) -> impl Iterator<Item = &'static PolicyOption> + use<> {
        let open = Options::TABLE.iter().zip(self.chosen).filter(|(_, chosen)| !chosen);
        open.map(|(option, _)| option)
    }

    /// What is chosen, and defaults.
    pub fn options(&self) -> Options {
        self.options
    }
}

impl From<Options> for OptionChoices {
    /// All of them are chosen.
    fn from(options: Options) -> Self {
        Self { options, chosen: [true; _] }
    }
}

/// How much of a cache M a strand claims that passes through it: that is anchored above and runs
/// below.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Counting {
    /// min(μM, strand size), let in while occupancy is at most (1−μ)M: the definition of Simhadri
    /// et al. (2016).
    #[default]
    Capped,
    /// min(M, strand size), let in while that is free; μ does not matter. The definition that
    /// theirs generalises.
    Full,
}

impl Counting {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Capped, Self::Full];

    /// As users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capped => "capped",
            Self::Full => "full",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each option, a value other than its default, and values that it cannot have.
    const CASES: [(&str, &str, &[&str]); 6] = [
        ("sigma", "0.25", &["0", "-0.5", "1.01", "NaN", "inf", "half", ""]),
        ("mu", "1", &["0", "-0.5", "1.01", "NaN", "inf", "half", ""]),
        ("counting", "full", &["half", "Full", ""]),
        ("nearness", "1", &["0", "-1", "1.5", "few", ""]),
        ("branching", "3", &["1", "0", "-2", "2.5", "two", ""]),
        ("boundary", "0", &["-1", "0.5", "4294967296", "deep", ""]),
    ];

    #[test]
    fn each_option_parses_what_it_prints_and_leaves_the_others_alone() {
        assert_eq!(CASES.map(|case| case.0).as_slice(), {
            Options::TABLE.iter().map(|option| option.name).collect::<Vec<_>>()
        });
        for (option, (name, value, _)) in Options::TABLE.iter().zip(CASES) {
            assert_eq!(option.variable, format!("BEFIT_{}", name.to_uppercase()));
            let mut options = Options::default();
            options.set(name, value).unwrap();
            assert_ne!(options, Options::default(), "{name}");
            assert_eq!(option.print(&options), value);
            assert_eq!(options.to_string().parse(), Ok(options));
            options.set(name, &option.print(&Options::default())).unwrap();
            assert_eq!(options, Options::default(), "{name}");
        }
    }

    #[test]
    fn what_an_option_cannot_be_is_refused_with_what_it_can() {
        for (option, (name, _, bad)) in Options::TABLE.iter().zip(CASES) {
            for value in bad {
                let mut options = Options::default();
                let error = options.set(name, value).unwrap_err();
                let expected = format!("{name}: '{value}' is not {}", option.range());
                assert_eq!(error.to_string(), expected);
                assert_eq!(options, Options::default());
            }
        }
        let error = "sigme=1".parse::<Options>().unwrap_err().to_string();
        assert!(error.starts_with("sigme: there is no such option; known: sigma, mu, "), "{error}");
        let error = Options { nearness: 0, ..Options::default() }.check().unwrap_err();
        assert_eq!(error.to_string(), "nearness: '0' is not a whole number from 1 up");
        assert!(Options { mu: f64::NAN, ..Options::default() }.check().is_err());
        assert_eq!(Options::default().check(), Ok(()));
    }

    #[test]
    fn a_choice_closes_its_option_only() {
        let mut choices = OptionChoices::default();
        choices.choose("mu", |options| options.mu = Options::default().mu);
        choices.parse(&Options::TABLE[0], "1").unwrap();
        assert!(choices.parse(&Options::TABLE[2], "half").is_err());
        let chosen: Vec<_> = choices.chosen().map(|(option, text)| (option.name, text)).collect();
        assert_eq!(chosen, [("sigma", "1".to_owned()), ("mu", "0.2".to_owned())]);
        let open: Vec<_> = choices.open().map(|option| option.name).collect();
        assert_eq!(open, ["counting", "nearness", "branching", "boundary"]);
        assert_eq!(OptionChoices::from(choices.options()).open().count(), 0);
    }
}
