//! How many forks inside one another fit on a stack, on befit and on rayon: `depth` starts itself
//! with more and more of them until the process dies. On stacks of 2 MiB, which is what threads of
//! Rust programs usually have.

use std::{env, hint::black_box, process::Command};

const STACK: usize = 2 << 20;

fn with_befit(levels: u32) -> u32 {
    if levels == 0 { 0 } else { 1 + befit::join(|| with_befit(levels - 1), || black_box(())).0 }
}

fn with_rayon(levels: u32) -> u32 {
    if levels == 0 { 0 } else { 1 + rayon::join(|| with_rayon(levels - 1), || black_box(())).0 }
}

fn fits(runtime: &str, levels: u32) -> bool {
    let myself = env::current_exe().expect("the path of this program");
    let output = Command::new(myself).args([runtime, &levels.to_string()]).output();
    output.expect("this program starts").status.success()
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [runtime, levels] = &arguments[..] {
        let levels = levels.parse().expect("a number of levels");
        let found = match &runtime[..] {
            "befit" => {
                let pool = befit::ThreadPoolBuilder::new().num_threads(2).stack_size(STACK);
                pool.build().expect("a pool").install(|| with_befit(levels))
            }
            _ => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(2).stack_size(STACK);
                pool.build().expect("a pool").install(|| with_rayon(levels))
            }
        };
        assert_eq!(found, levels);
        return;
    }
    for runtime in ["befit", "rayon"] {
        let (mut fit, mut overflow) = (1, 1);
        while fits(runtime, overflow) {
            (fit, overflow) = (overflow, overflow * 2);
        }
        while overflow - fit > fit / 100 + 1 {
            let middle = fit + (overflow - fit) / 2;
            if fits(runtime, middle) { fit = middle } else { overflow = middle }
        }
        println!("{runtime}: {fit} levels, {} bytes each", STACK / fit as usize);
    }
}
