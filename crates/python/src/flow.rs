//! Flows out of JSON, with errors that name the key.

use bitline::workload::Flow;
use pyo3::PyResult;
use serde_json::{Map, Value};

use crate::error::{internal, usage};

/// What a key may differ in from the nearest known one that is offered instead.
const SIMILARITY_MIN: f64 = 0.7;

/// The flows that a JSON list holds.
pub(crate) fn parse_flows(text: &str) -> PyResult<Vec<Flow>> {
    let flows: Vec<Map<String, Value>> =
        serde_json::from_str(text).map_err(|error| usage(format!("workload: {error}")))?;
    flows.into_iter().map(parse_flow).collect()
}

fn parse_flow(flow: Map<String, Value>) -> PyResult<Flow> {
    let known = match serde_json::to_value(Flow::default()) {
        Ok(Value::Object(known)) => known,
        _ => return Err(internal("a flow is no JSON object")),
    };
    for (key, value) in &flow {
        if !known.contains_key(key) {
            return Err(usage(unknown(key, &known)));
        }
        // Alone, beside the defaults of the others, so that an error is about this key.
        let alone = Map::from_iter([(key.clone(), value.clone())]);
        let parsed: Result<Flow, _> = serde_json::from_value(Value::Object(alone));
        if let Err(error) = parsed {
            let expected = in_words(&error.to_string());
            return Err(usage(format!("workload: {key} = {value}: {expected}")));
        }
    }
    serde_json::from_value(Value::Object(flow)).map_err(|error| usage(format!("workload: {error}")))
}

fn unknown(key: &str, known: &Map<String, Value>) -> String {
    let similarity = |name: &str| strsim::jaro_winkler(key, name);
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let nearest = names
        .iter()
        .filter(|name| similarity(name) >= SIMILARITY_MIN)
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    match nearest {
        Some(name) => format!("workload: a flow has no key {key:?}; did you mean {name:?}?"),
        None => format!(
            "workload: a flow has no key {key:?}; it has {}",
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
