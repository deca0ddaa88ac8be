//! Reads a page as JSON from stdin and writes it as HTML to stdout.

use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

use befit_page::{Page, draw};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("befit-page: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let page: Page = serde_json::from_reader(io::stdin().lock())?;
    io::stdout().lock().write_all(draw(&page.title, &page.parts).as_bytes())?;
    Ok(())
}
