//! Draws pages with plots, by a program that is built when it is first needed (see `befit-page`).

use std::{
    fmt::Display,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};

use befit_page::Page;

use crate::{LabError, Progress, companion};

/// The program that draws pages.
#[derive(Debug)]
pub struct Drawer {
    program: PathBuf,
}

impl Drawer {
    /// Builds it: before the work whose results it is to draw, so that these are not lost for want
    /// of it. Takes a minute the first time.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn build(progress: &dyn Progress) -> Result<Self, LabError> {
        let program = companion::build("crates/page", "what draws pages", progress)?;
        Ok(Self { program })
    }

    /// The page as HTML that needs nothing else.
    ///
    /// # Errors
    /// When the program cannot be started, or fails.
    pub fn draw(&self, page: &Page) -> Result<String, LabError> {
        let json = serde_json::to_vec(page).map_err(draw)?;
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(draw)?;
        let stdin = child.stdin.take();
        // On another thread, as the program may begin to write before it has read all.
        let writer =
            thread::spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(&json)));
        let output = child.wait_with_output().map_err(draw)?;
        if !output.status.success() {
            return Err(draw(String::from_utf8_lossy(&output.stderr).trim()));
        }
        match writer.join() {
            Ok(written) => written.map_err(draw)?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        String::from_utf8(output.stdout).map_err(draw)
    }
}

fn draw(why: impl Display) -> LabError {
    LabError::Failed(format!("cannot draw the page: {why}"))
}
