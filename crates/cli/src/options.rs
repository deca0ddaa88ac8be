//! What several commands share: the policies with their options, and values from text.

use std::{
    num::{IntErrorKind, NonZeroU32, ParseIntError},
    path::PathBuf,
    str::FromStr,
};

use befit_lab::{CrateSource, Source, Target};
use befit_machine::Machine;
use befit_sched::{OptionChoices, Options, SchedulerKind};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, error::ErrorKind};

use crate::fail::Failure;

/// Which policies, and what is set on them.
#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    /// The schedulers, separated by commas; the first is what the others are compared with
    #[arg(
        long = "sched",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ws,pws,sb,cats-s,auto"
    )]
    pub(crate) schedulers: Vec<SchedulerKind>,
    #[command(flatten)]
    pub(crate) options: OptionArgs,
}

/// The policies' options: an argument for each that their table has.
#[derive(Debug)]
pub(crate) struct OptionArgs(pub(crate) OptionChoices);

impl Args for OptionArgs {
    fn augment_args(command: Command) -> Command {
        let defaults = Options::default();
        command.args(Options::TABLE.iter().map(|option| {
            let help = format!("{} [default: {}]", option.help, option.print(&defaults));
            Arg::new(option.name).long(option.name).value_name(option.value_name).help(help)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OptionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut args = Self(OptionChoices::default());
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for option in Options::TABLE {
            let Some(text) = matches.get_one::<String>(option.name) else { continue };
            self.0
                .parse(option, text)
                .map_err(|error| Error::raw(ErrorKind::ValueValidation, format!("--{error}")))?;
        }
        Ok(())
    }
}

/// Results are told apart by the machine's name: no two machines may have the same.
pub(crate) fn distinct(machines: &[Machine]) -> Result<(), Failure> {
    let again = |(at, machine): &(usize, &Machine)| {
        machines[..*at].iter().any(|other| other.name == machine.name)
    };
    match machines.iter().enumerate().find(again) {
        None => Ok(()),
        Some((_, Machine { name, .. })) => Err(Failure::usage(format!(
            "two machines are called {name}: name each once, and files of lstopo differently"
        ))),
    }
}

/// Which binary of the user's crate, for a command that takes `--manifest-path`.
#[derive(Args, Clone, Debug)]
pub(crate) struct BinaryArgs {
    /// The package, where the manifest is a workspace's
    #[arg(long, value_name = "NAME", requires = "manifest_path")]
    package: Option<String>,
    /// The binary, where the package has several
    #[arg(long, value_name = "NAME", requires = "manifest_path", conflicts_with = "example")]
    bin: Option<String>,
    /// An example instead of a binary
    #[arg(long, value_name = "NAME", requires = "manifest_path")]
    example: Option<String>,
    /// Features of the package to enable, separated by commas
    #[arg(long, value_name = "LIST", requires = "manifest_path")]
    features: Option<String>,
    /// Without the package's default features
    #[arg(long, requires = "manifest_path")]
    no_default_features: bool,
    /// The profile to build in [default: release]
    #[arg(long, value_name = "NAME", requires = "manifest_path")]
    profile: Option<String>,
    /// The folder to build in [default: the package's target folder]
    #[arg(long, value_name = "FOLDER", requires = "manifest_path")]
    target_dir: Option<PathBuf>,
    /// A file that the program reads as standard input; without it, it reads nothing
    #[arg(long, value_name = "FILE", requires = "manifest_path")]
    stdin: Option<PathBuf>,
    /// A file that the program reads and no argument names; may be repeated. Once the content of
    /// such a file changes, or of one that an argument names, the program is recorded again
    #[arg(long = "input", value_name = "FILE", requires = "manifest_path")]
    inputs: Vec<PathBuf>,
}

impl BinaryArgs {
    /// This binary of the crate with that manifest, started with `arguments`.
    pub(crate) fn source(self, manifest: PathBuf, arguments: Vec<String>) -> Source {
        let target = Target {
            manifest_path: Some(manifest),
            package: self.package,
            bin: self.bin,
            example: self.example,
            features: self.features,
            no_default_features: self.no_default_features,
            profile: self.profile,
            target_dir: self.target_dir,
        };
        Source::Crate(CrateSource { target, arguments, stdin: self.stdin, inputs: self.inputs })
    }
}

/// σ, for a command that needs no other option.
pub(crate) fn sigma(text: &str) -> Result<f64, String> {
    let mut options = Options::default();
    options.set("sigma", text).map_err(|error| error.what)?;
    Ok(options.sigma)
}

/// A number of things, with `_` between digits where one likes. `T` has no 0.
pub(crate) fn count<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    number(text, 1)
}

/// The same as a plain number.
pub(crate) fn positive(text: &str) -> Result<u32, String> {
    count(text).map(NonZeroU32::get)
}

/// A number that may be 0.
pub(crate) fn whole<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    number(text, 0)
}

fn number<T: FromStr<Err = ParseIntError>>(text: &str, least: u8) -> Result<T, String> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    digits.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => {
            format!("{} is the most", u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>()))
        }
        _ => format!("a whole number from {least} up is needed"),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::num::NonZeroU64;

    use befit_sched::PolicyOption;

    use super::*;

    /// For each option a command line that sets only it, and the choice that follows; then one that
    /// sets none.
    pub(crate) fn each_option() -> Vec<(Vec<String>, OptionChoices)> {
        let others: Options =
            "sigma=1,mu=0.25,counting=full,nearness=3,branching=5,boundary=7".parse().unwrap();
        let one = |option: &PolicyOption| {
            let (flag, value) = (format!("--{}", option.name), option.print(&others));
            let mut choices = OptionChoices::default();
            choices.parse(option, &value).unwrap();
            assert_ne!(choices.options(), Options::default(), "{flag}");
            (vec![flag, value], choices)
        };
        let none = (Vec::new(), OptionChoices::default());
        Options::TABLE.iter().map(one).chain([none]).collect()
    }

    #[test]
    fn counts_may_have_underscores_and_must_not_be_zero() {
        assert_eq!(count("10_000_000"), Ok(NonZeroU64::new(10_000_000).unwrap()));
        for bad in ["0", "-1", "1e7", "", "_", "99999999999999999999"] {
            assert!(count::<NonZeroU64>(bad).is_err(), "{bad}");
        }
        assert_eq!(positive("99_999_999_999"), Err("4294967295 is the most".to_owned()));
        assert_eq!((whole("0"), whole::<u32>("-1").is_err()), (Ok(0_u8), true));
    }

    #[test]
    fn every_variable_is_in_the_documentation() {
        let page = include_str!("../../../docs/run.md");
        for option in Options::TABLE {
            assert!(page.contains(&format!("`{}`", option.variable)), "{}", option.variable);
        }
    }
}
