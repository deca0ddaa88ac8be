//! `befit-calibrate`: measures this machine for the command `befit`, which builds it when it first
//! needs it and reads what it prints. People use `befit calibrate`.
//!
//! | arguments | printed |
//! |---|---|
//! | `full`, `quick` | the figures as JSON; meanwhile the share that is done, by lines on stderr |
//! | `hand-over HERE THERE` | nanoseconds of a line from the CPU `THERE` to `HERE` |
//! | `bring-near HERE THERE NS` | whether a line now takes no longer: `true` or `false` |

use std::{env, error::Error, process::ExitCode};

use befit_calibrate::{Effort, bring_near, calibrate, hand_over};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("befit-calibrate: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<String, Box<dyn Error>> {
    let measured = |effort| -> Result<String, Box<dyn Error>> {
        let found = calibrate(effort, &mut |share| eprintln!("{share:.4}"))?;
        Ok(serde_json::to_string(&found)?)
    };
    match words {
        ["full"] => measured(Effort::Full),
        ["quick"] => measured(Effort::Quick),
        ["hand-over", here, there] => Ok(hand_over(here.parse()?, there.parse()?).to_string()),
        ["bring-near", here, there, usual] => {
            Ok(bring_near(here.parse()?, there.parse()?, usual.parse()?).to_string())
        }
        _ => Err("it measures for befit; see befit calibrate --help".into()),
    }
}
