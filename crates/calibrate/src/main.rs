//! `befit-calibrate`: measures this machine for the command `befit`, which builds it when it first
//! needs it and reads what it prints. People use `befit calibrate`.
//!
//! | arguments | printed |
//! |---|---|
//! | `full`, `quick` | the figures as JSON; meanwhile the share that is done, by lines on stderr |
//! | `written HERE THERE` | nanoseconds of a load on `HERE` of a line that the CPU `THERE` wrote |
//! | `bring-near HERE THERE NS` | whether such a load now takes so long: `true` or `false` |
//! | `pace CPU…` | nanoseconds a simple operation on each of these, a line each |

use std::{env, error::Error, process::ExitCode};

use befit_calibrate::{Effort, bring_near, calibrate, pace, written};

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
        found.check()?;
        Ok(serde_json::to_string(&found)?)
    };
    match words {
        ["full"] => measured(Effort::Full),
        ["quick"] => measured(Effort::Quick),
        ["written", here, there] => Ok(written(here.parse()?, there.parse()?).to_string()),
        ["bring-near", here, there, usual] => {
            Ok(bring_near(here.parse()?, there.parse()?, usual.parse()?).to_string())
        }
        ["pace", cpus @ ..] => {
            let cpus: Result<Vec<u32>, _> = cpus.iter().map(|cpu| cpu.parse()).collect();
            let found = pace(&cpus?);
            Ok(found.iter().map(f64::to_string).collect::<Vec<_>>().join("\n"))
        }
        _ => Err("it measures for befit; see befit calibrate --help".into()),
    }
}
