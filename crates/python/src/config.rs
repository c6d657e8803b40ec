//! Presets and configurations for Python.

use ::attach::mount::{FOR_FILE_SYSTEMS, for_file_systems};
use bitline::{ConfigBuilder, DEFAULT_PRESET};
use pyo3::prelude::*;

use crate::error::{json, to_python};

/// A complete configuration, checked.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Config(pub(crate) bitline::Config);

#[pymethods]
impl Config {
    /// Starts from the preset `preset`, or from the TOML text `text`, or from the default
    /// preset; `settings` are dotted keys with values as TOML.
    #[new]
    #[pyo3(signature = (preset = None, text = None, settings = Vec::new()))]
    fn new(
        preset: Option<&str>,
        text: Option<&str>,
        settings: Vec<(String, String)>,
    ) -> PyResult<Config> {
        let builder = match text {
            Some(text) => ConfigBuilder::from_toml(text),
            None => ConfigBuilder::preset(preset.unwrap_or(DEFAULT_PRESET)),
        };
        let mut builder = builder.map_err(to_python)?;
        for (key, value) in &settings {
            builder.set(key, value).map_err(to_python)?;
        }
        Ok(Config(builder.build().map_err(to_python)?))
    }

    /// The same with other values of some keys.
    fn replaced(&self, settings: Vec<(String, String)>) -> PyResult<Config> {
        let pairs = settings
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        self.0.with(pairs).map(Config).map_err(to_python)
    }

    /// The same with what file systems want of a drive, where it can have that, but for keys `said`.
    fn for_file_systems(&self, said: Vec<String>) -> Config {
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        Config(for_file_systems(self.0.clone(), &said))
    }

    /// The keys of what file systems want of a drive.
    #[classattr]
    #[pyo3(name = "FOR_FILE_SYSTEMS")]
    fn keys_for_file_systems() -> Vec<&'static str> {
        FOR_FILE_SYSTEMS.iter().map(|(key, _)| *key).collect()
    }

    /// The name of the preset it started from.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// What it models.
    #[getter]
    fn description(&self) -> &str {
        &self.0.description
    }

    /// All of it, as TOML text.
    fn to_toml(&self) -> PyResult<String> {
        self.0.to_toml().map_err(to_python)
    }

    /// All of it, as TOML text with meaning, unit and source above each key.
    fn to_annotated_toml(&self) -> PyResult<String> {
        self.0.to_annotated_toml().map_err(to_python)
    }

    /// Every key with its value, unit, meaning, choices and source, as JSON.
    fn keys(&self) -> PyResult<String> {
        json(&self.0.keys().map_err(to_python)?)
    }
}

/// The names of all presets.
#[pyfunction]
pub(crate) fn preset_names() -> Vec<String> {
    bitline::Config::preset_names()
}

/// The TOML text of a preset's own file: what it does otherwise than what it inherits from.
#[pyfunction]
pub(crate) fn preset_text(name: &str) -> PyResult<&'static str> {
    bitline::Config::preset_text(name).map_err(to_python)
}
