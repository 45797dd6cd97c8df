//! The library of the comparison with PyO3.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;

/// Adds two integers.
#[pyfunction]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Returns the mean of xs.
#[pyfunction]
fn mean(xs: Vec<f64>) -> f64 {
    xs.iter().sum::<f64>() / xs.len() as f64
}

/// Says hello to a name.
#[pyfunction]
fn greet(name: &str) -> String {
    format!("hello, {name}")
}

/// Splits text at sep.
#[pyfunction]
fn split(text: &str, sep: &str) -> Vec<String> {
    text.split(sep).map(String::from).collect()
}

/// Counts the words of a text.
#[pyfunction]
fn count_words(text: &str) -> HashMap<String, i64> {
    let mut n = HashMap::new();
    for w in text.split_whitespace() {
        *n.entry(w.to_string()).or_insert(0) += 1;
    }
    n
}

/// Returns quotient and remainder.
#[pyfunction]
fn div_mod(a: i64, b: i64) -> PyResult<(i64, i64)> {
    if b == 0 {
        return Err(PyZeroDivisionError::new_err("division by zero"));
    }
    Ok((a / b, a % b))
}

/// Reads an integer.
#[pyfunction]
fn parse(text: &str) -> PyResult<i64> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{text:?} is not an integer")))
}

/// Calls f.
#[pyfunction]
fn apply(f: Bound<'_, PyAny>, x: i64) -> PyResult<i64> {
    f.call1((x,))?.extract()
}

/// Multiplies each element by factor.
#[pyfunction]
fn scale(mut xs: PyReadwriteArray1<'_, f32>, factor: f32) -> PyResult<()> {
    for x in xs.as_slice_mut()? {
        *x *= factor;
    }
    Ok(())
}

/// Adds the elements.
#[pyfunction]
fn sum(xs: PyReadonlyArray1<'_, f32>) -> PyResult<f64> {
    Ok(xs.as_slice()?.iter().map(|x| f64::from(*x)).sum())
}

/// A point of the plane.
#[pyclass]
struct Point {
    #[pyo3(get, set)]
    x: f64,
    #[pyo3(get, set)]
    y: f64,
}

#[pymethods]
impl Point {
    #[new]
    fn new(x: f64, y: f64) -> Self {
        Point { x, y }
    }

    /// The distance from the origin.
    fn norm(&self) -> f64 {
        self.x.hypot(self.y)
    }
}

/// Counts words.
#[pyclass]
struct Counter {
    n: Mutex<HashMap<String, i64>>,
}

#[pymethods]
impl Counter {
    #[new]
    fn new() -> Self {
        Counter { n: Mutex::new(HashMap::new()) }
    }

    /// Counts a word and returns its count.
    fn add(&self, word: &str) -> i64 {
        let mut n = self.n.lock().unwrap();
        let c = n.entry(word.to_string()).or_insert(0);
        *c += 1;
        *c
    }
}

#[pymodule]
fn ledger(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(add, m)?)?;
    m.add_function(wrap_pyfunction!(mean, m)?)?;
    m.add_function(wrap_pyfunction!(greet, m)?)?;
    m.add_function(wrap_pyfunction!(split, m)?)?;
    m.add_function(wrap_pyfunction!(count_words, m)?)?;
    m.add_function(wrap_pyfunction!(div_mod, m)?)?;
    m.add_function(wrap_pyfunction!(parse, m)?)?;
    m.add_function(wrap_pyfunction!(apply, m)?)?;
    m.add_function(wrap_pyfunction!(scale, m)?)?;
    m.add_function(wrap_pyfunction!(sum, m)?)?;
    m.add_class::<Point>()?;
    m.add_class::<Counter>()?;
    Ok(())
}
