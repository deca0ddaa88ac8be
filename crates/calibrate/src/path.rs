//! Where the calibration file lies.

use std::{ffi::OsString, path::PathBuf};

/// Where `--machine host` looks for the calibration file: `$BEFIT_CALIBRATION`, else
/// `$XDG_CONFIG_HOME/befit/host.machine`, else `~/.config/befit/host.machine`. `None` where none of
/// these variables is set.
pub fn usual_path() -> Option<PathBuf> {
    from(|name| std::env::var_os(name))
}

fn from(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = || set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    set("BEFIT_CALIBRATION").or_else(|| Some(folder()?.join("befit").join("host.machine")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Option<PathBuf> {
        from(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()))
    }

    #[test]
    fn the_nearest_variable_names_the_file() {
        let (own, xdg) = (("BEFIT_CALIBRATION", "/c"), ("XDG_CONFIG_HOME", "/x"));
        let home = ("HOME", "/h");
        assert_eq!(with(&[own, xdg, home]), Some("/c".into()));
        assert_eq!(with(&[xdg, home]), Some("/x/befit/host.machine".into()));
        assert_eq!(with(&[home]), Some("/h/.config/befit/host.machine".into()));
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn an_empty_variable_counts_as_none() {
        assert_eq!(
            with(&[("BEFIT_CALIBRATION", ""), ("HOME", "/h")]),
            Some("/h/.config/befit/host.machine".into())
        );
    }
}
