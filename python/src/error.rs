//! Failures as exceptions: `ValueError` where what was asked for cannot be, else `BefitError`.

use befit_lab::LabError;
use pyo3::{
    PyErr, create_exception,
    exceptions::{PyException, PyValueError},
};

create_exception!(befit, BefitError, PyException, "Something went wrong on the way.");

pub(crate) fn lab(error: LabError) -> PyErr {
    if error.is_usage() {
        return value(error);
    }
    BefitError::new_err(error.to_string())
}

pub(crate) fn value(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn other(error: impl std::fmt::Display) -> PyErr {
    BefitError::new_err(error.to_string())
}
