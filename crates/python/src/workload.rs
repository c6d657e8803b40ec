//! Workloads out of JSON, with errors that name the key; single requests as columns.

use bitline::Precondition;
use bitline::workload::{Flow, Latencies, Queries, Replay, Workload};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{internal, usage};

/// What a key may differ in from the nearest known one that is offered instead.
const SIMILARITY_MIN: f64 = 0.7;

/// Checks that a JSON list holds flows, replays and queries, as far as that can be said without a drive:
/// names of keys, and what kind of value each has.
#[pyfunction]
pub(crate) fn check_workloads(workloads: &str) -> PyResult<()> {
    parse_workloads(workloads).map(drop)
}

/// The workloads that a JSON list holds: what has a path is a trace, what has an expression are queries.
pub(crate) fn parse_workloads(text: &str) -> PyResult<Vec<Workload>> {
    let workloads: Vec<Map<String, Value>> =
        serde_json::from_str(text).map_err(|error| usage(format!("workload: {error}")))?;
    workloads
        .into_iter()
        .map(|workload| {
            if workload.contains_key("path") {
                let replay = parse::<Replay>("workload", "replay", workload)?;
                return Ok(Workload::Replay(replay));
            }
            if workload.contains_key("expression") {
                let queries = parse::<Queries>("workload", "stream of queries", workload)?;
                return Ok(Workload::Queries(queries));
            }
            let flow = parse::<Flow>("workload", "flow", workload)?;
            Ok(Workload::Flow(flow))
        })
        .collect()
}

/// What a JSON object says of preconditioning.
pub(crate) fn parse_precondition(text: &str) -> PyResult<Precondition> {
    let table =
        serde_json::from_str(text).map_err(|error| usage(format!("precondition: {error}")))?;
    parse::<Precondition>("precondition", "precondition", table)
}

/// `what` it is, and `place` for errors to begin with.
fn parse<T>(place: &str, what: &str, workload: Map<String, Value>) -> PyResult<T>
where
    T: Default + Serialize + DeserializeOwned,
{
    let known = match serde_json::to_value(T::default()) {
        Ok(Value::Object(known)) => known,
        _ => return Err(internal(format!("a {what} is no JSON object"))),
    };
    for (key, value) in &workload {
        if !known.contains_key(key) {
            return Err(usage(unknown(place, what, key, &known)));
        }
        // Alone, beside the defaults of the others, so that an error is about this key.
        let alone = Map::from_iter([(key.clone(), value.clone())]);
        let parsed: Result<T, _> = serde_json::from_value(Value::Object(alone));
        if let Err(error) = parsed {
            let expected = in_words(&error.to_string());
            return Err(usage(format!("{place}: {key} = {value}: {expected}")));
        }
    }
    serde_json::from_value(Value::Object(workload))
        .map_err(|error| usage(format!("{place}: {error}")))
}

fn unknown(place: &str, what: &str, key: &str, known: &Map<String, Value>) -> String {
    let similarity = |name: &str| strsim::jaro_winkler(key, name);
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let nearest = names
        .iter()
        .filter(|name| similarity(name) >= SIMILARITY_MIN)
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    match nearest {
        Some(name) => {
            format!("{place}: a {what} has no key {key:?}; did you mean {name:?}?")
        }
        None => format!(
            "{place}: a {what} has no key {key:?}; it has {}",
            names.join(", ")
        ),
    }
}

/// The deserializer's words, without names of Rust's types.
fn in_words(message: &str) -> String {
    let Some((_, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let most = match expected {
        "u32" => u32::MAX.into(),
        "u64" | "usize" => u64::MAX,
        "f64" => return "it must be a number".to_owned(),
        "a boolean" => return "it must be true or false".to_owned(),
        "a string" => return "it must be a text".to_owned(),
        _ => return message.to_owned(),
    };
    format!("it must be a whole number from 0 to {most}")
}

/// The columns of some requests, each as the bytes of little-endian numbers; the Python
/// side makes arrays of them without copying.
pub(crate) fn columns<'py>(py: Python<'py>, rows: &Latencies) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let set = |name: &str, bytes: Vec<u8>| columns.set_item(name, PyBytes::new(py, &bytes));
    set("arrival_ns", bytes_of(&rows.arrival_ns, f64::to_le_bytes))?;
    set("latency_ns", bytes_of(&rows.latency_ns, f64::to_le_bytes))?;
    set("kind", rows.kind.clone())?;
    set("lba", bytes_of(&rows.lba, u64::to_le_bytes))?;
    set("blocks", bytes_of(&rows.blocks, u32::to_le_bytes))?;
    set("bytes", bytes_of(&rows.bytes, u64::to_le_bytes))?;
    set("flow", bytes_of(&rows.flow, u32::to_le_bytes))?;
    set("namespace", bytes_of(&rows.namespace, u32::to_le_bytes))?;
    set("status", bytes_of(&rows.status, u16::to_le_bytes))?;
    Ok(columns)
}

fn bytes_of<T: Copy, const N: usize>(values: &[T], bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| bytes(*value)).collect()
}
