//! Which program of which package is meant.

use std::{
    env, fmt, io,
    path::{self, Path, PathBuf},
};

/// A binary or an example of a cargo package, by what `cargo build` has options for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Target {
    /// The package's Cargo.toml; by default the one in, or above, the current folder.
    pub manifest_path: Option<PathBuf>,
    /// Which package, in a workspace with several.
    pub package: Option<String>,
    /// Which binary, in a package with several.
    pub bin: Option<String>,
    /// An example instead of a binary; `bin` is then not looked at.
    pub example: Option<String>,
    /// Features to enable, as `--features` takes them.
    pub features: Option<String>,
    /// Without the package's default features.
    pub no_default_features: bool,
    /// The profile to build in, by default `release`.
    pub profile: Option<String>,
    /// The folder to build in, by default the workspace's.
    pub target_dir: Option<PathBuf>,
}

impl Target {
    /// The profile to build in.
    pub(super) fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or("release")
    }

    /// The manifest that is meant, as cargo finds it.
    pub(super) fn absolute_manifest(&self) -> io::Result<PathBuf> {
        match &self.manifest_path {
            Some(path) => path::absolute(path),
            None => {
                let here = env::current_dir()?;
                let above = here
                    .ancestors()
                    .map(|folder| folder.join("Cargo.toml"))
                    .find(|path| path.is_file());
                Ok(above.unwrap_or_else(|| here.join("Cargo.toml")))
            }
        }
    }
}

impl fmt::Display for Target {
    /// For progress messages: `kernels/Cargo.toml, binary befit-kernels`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let manifest = self.manifest_path.as_deref().unwrap_or(Path::new("Cargo.toml"));
        write!(f, "{}", manifest.display())?;
        if let Some(package) = &self.package {
            write!(f, ", package {package}")?;
        }
        match (&self.example, &self.bin) {
            (Some(example), _) => write!(f, ", example {example}")?,
            (None, Some(bin)) => write!(f, ", binary {bin}")?,
            (None, None) => {}
        }
        Ok(())
    }
}
