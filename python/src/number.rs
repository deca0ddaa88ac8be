//! Numbers as arguments: what is negative or too large is a `ValueError`, as all that cannot be,
//! and no `OverflowError`.

use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
};

use crate::error::value;

/// The argument `name`, which is `given`.
fn number<'a, 'py, T>(name: &str, given: &'a Bound<'py, PyAny>) -> PyResult<T>
where
    T: FromPyObject<'a, 'py, Error = PyErr>,
{
    given.extract().map_err(|error: PyErr| {
        let py = given.py();
        if error.is_instance_of::<PyOverflowError>(py) {
            value(format!("{name} is negative or too large"))
        } else if error.is_instance_of::<PyTypeError>(py) {
            PyTypeError::new_err(format!("argument '{name}': {}", error.value(py)))
        } else {
            error
        }
    })
}

/// Refuses a `shrink` of 0.
pub(crate) fn at_least_one(shrink: u32) -> PyResult<u32> {
    if shrink == 0 { Err(value("shrink: at least 1")) } else { Ok(shrink) }
}

/// A function for `from_py_with` of each argument.
macro_rules! numbers {
    ($($name:ident: $number:ty,)*) => {$(
        pub(crate) fn $name(given: &Bound<'_, PyAny>) -> PyResult<$number> {
            number(stringify!($name), given)
        }
    )*};
}

numbers! {
    bandwidth: Option<u32>,
    cores: Option<u32>,
    data_seed: Option<u64>,
    n: Option<u64>,
    seed: u64,
    seeds: Option<u32>,
    sockets: Option<u32>,
    worst: usize,
}

pub(crate) fn shrink(given: &Bound<'_, PyAny>) -> PyResult<u32> {
    at_least_one(number("shrink", given)?)
}

pub(crate) fn shrink_if_given(given: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    let shrink: Option<u32> = number("shrink", given)?;
    shrink.map(at_least_one).transpose()
}
