//! Rayon's variables set the number of threads of the global pool that `join` starts, as of pools
//! that a program builds; each runs in a process of its own.

use std::process::Command;

/// The number of threads that the program `name` below prints when it runs with `variables`.
fn threads(name: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--include-ignored"]);
    for variable in ["BEFIT_THREADS", "RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"] {
        command.env_remove(variable);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let at = said.find("threads: ").unwrap_or_else(|| panic!("{said}"));
    said[at..].split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
#[ignore = "a program for the test below"]
fn unbuilt() {
    println!("threads: {} ", rayon_core::join(|| 1, rayon_core::current_num_threads).1);
}

#[test]
#[ignore = "a program for the test below"]
fn built() {
    let pool = rayon_core::ThreadPoolBuilder::new().build().unwrap();
    println!("threads: {} ", pool.install(rayon_core::current_num_threads));
}

#[test]
fn rayons_variables_say_how_many_threads() {
    for program in ["unbuilt", "built"] {
        let (rayon, cpus) = ("RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS");
        let default = threads(program, &[]);
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[(rayon, "5")], "5"),
            (&[(cpus, "3")], "3"),
            (&[(rayon, "5"), (cpus, "3")], "5"),
            (&[(rayon, "many"), (cpus, "3")], "3"),
            (&[(rayon, "5"), ("BEFIT_THREADS", "4")], "4"),
            (&[(rayon, "0"), (cpus, "3")], &default),
        ];
        for (variables, expected) in cases {
            assert_eq!(threads(program, variables), expected, "{program}, {variables:?}");
        }
    }
}
