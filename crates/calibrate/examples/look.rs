//! Measures this machine and prints table and file: `cargo run --release -p befit-calibrate
//! --example look`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quick = std::env::args().any(|a| a == "--quick");
    let effort = if quick { befit_calibrate::Effort::Quick } else { befit_calibrate::Effort::Full };
    let found = befit_calibrate::calibrate(effort, &mut |_| {})?;
    print!("{}\n{}", found.table(), found.file()?);
    Ok(())
}
