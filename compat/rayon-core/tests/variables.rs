//! Rayon's variables decide for the global pool that nobody builds, as for pools that are built:
//! each in a process of its own.

use std::process::Command;

/// How many threads a program says that it has, by `name` below, with `variables`.
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
        assert_eq!(threads(program, &[("RAYON_NUM_THREADS", "5")]), "5", "{program}");
        assert_eq!(threads(program, &[("RAYON_RS_NUM_CPUS", "3")]), "3", "{program}");
        assert_eq!(
            threads(program, &[("RAYON_NUM_THREADS", "5"), ("RAYON_RS_NUM_CPUS", "3")]),
            "5",
            "{program}"
        );
        assert_eq!(
            threads(program, &[("RAYON_NUM_THREADS", "many"), ("RAYON_RS_NUM_CPUS", "3")]),
            "3",
            "{program}"
        );
        assert_eq!(
            threads(program, &[("RAYON_NUM_THREADS", "5"), ("BEFIT_THREADS", "4")]),
            "4",
            "{program}"
        );
        let default = threads(program, &[]);
        assert_eq!(
            threads(program, &[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "3")]),
            default,
            "{program}"
        );
    }
}
