//! One line of a message about the command line, for all commands.

/// What clap's `message` says, without the usage that follows it, and where to look further.
pub fn one_line(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let ours = |p: &&str| !p.starts_with("Usage:") && !p.starts_with("For more");
    let paragraphs = message.split("\n\n").take_while(ours);
    // How a value may look like an option is of no help where an option was meant.
    let said = |line: &&str| !line.starts_with("tip: to pass");
    let lines =
        paragraphs.map(|p| p.lines().map(str::trim).filter(said).collect::<Vec<_>>().join(" "));
    let lines = lines.filter(|line| !line.is_empty());
    format!("{}; try '--help'", lines.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claps_messages_become_one_line() {
        for (message, line) in [
            (
                "error: the following required arguments were not provided:\n  <FILE>\n\n\
                 Usage: befit sim <FILE>\n\nFor more information, try '--help'.\n",
                "the following required arguments were not provided: <FILE>; try '--help'",
            ),
            (
                "error: unexpected argument '--machin' found\n\n  \
                 tip: a similar argument exists: '--machine'\n  tip: to pass '--machin' as a \
                 value, use '-- --machin'\n\nUsage: befit sim <FILE>\n",
                "unexpected argument '--machin' found; tip: a similar argument exists: \
                 '--machine'; try '--help'",
            ),
            (
                "error: unexpected argument '--bogus' found\n\n  tip: to pass '--bogus' as a \
                 value, use '-- --bogus'\n\nUsage: befit sim <FILE>\n",
                "unexpected argument '--bogus' found; try '--help'",
            ),
        ] {
            assert_eq!(one_line(message), line);
        }
    }
}
