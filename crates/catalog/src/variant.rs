//! A kernel and what is set on it, by the name that users type: `bst:node=24,lookups=worst`.

use crate::{CatalogError, Kernel, Settings};

/// A kernel with its settings, as users name it: `bst`, or `bst:node=24,lookups=worst`.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The kernel.
    pub kernel: Kernel,
    /// As it was named.
    pub name: String,
    /// What was set, and the defaults of what was not.
    pub settings: Settings,
}

impl Variant {
    /// Reads a kernel's name and, behind a colon, its settings.
    ///
    /// ```
    /// use befit_catalog::Variant;
    ///
    /// assert_eq!(Variant::find("bst:node=24").unwrap().kernel.name, "bst");
    /// let error = Variant::find("bst:node=25").unwrap_err().to_string();
    /// assert!(error.starts_with("kernel bst has no setting 'node=25'; known: node=20|24, "), "{error}");
    /// ```
    ///
    /// # Errors
    /// [`CatalogError::Unknown`] and [`CatalogError::Setting`], which list what there is.
    pub fn find(text: &str) -> Result<Self, CatalogError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let kernel = Kernel::find(name)?;
        Ok(Self { kernel, name: text.to_owned(), settings: Settings::read(&kernel, settings)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Settings, CatalogError> {
        Ok(Variant::find(text)?.settings)
    }

    #[test]
    fn settings_have_their_defaults_unless_given() {
        let windows = settings("array-windows:rows=4096,").unwrap();
        assert_eq!((windows.number("rows"), windows.number("window")), (4096, 256));
        assert_eq!(settings("array-abc:schedule=2").unwrap().get("schedule"), "2");
    }

    #[test]
    fn a_setting_that_is_not_there_is_answered_with_those_that_are() {
        for bad in [
            "array-abc:tasks",
            "array-abc:tasks=d",
            "array-abc:task=ac",
            "array-windows:rows=0",
            "rrm:n=5",
        ] {
            let error = Variant::find(bad).unwrap_err().to_string();
            assert!(error.contains("has no setting") && error.contains("known: "), "{error}");
        }
        assert!(Variant::find("array-windows:rows=#").is_err());
    }

    #[test]
    fn kernels_without_settings_are_named_as_ever() {
        assert_eq!(Variant::find("rrm").unwrap().name, "rrm");
        assert!(Variant::find("rrn:").is_err());
    }
}
