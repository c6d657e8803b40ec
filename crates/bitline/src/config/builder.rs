//! Putting a configuration together from tables of keys.

use toml::{Table, Value};

use super::Config;
use super::error::{ConfigError, quoted, quoted_lines};
use super::presets::{self, DEFAULT_PRESET};
use super::reason;
use super::tables::{find_mut, leaves_of, parse, put, unknown, wrong};

/// A configuration being put together. It always has every key, each with a
/// value of the right kind.
pub struct ConfigBuilder {
    table: Table,
}

impl ConfigBuilder {
    /// Starts from a preset.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn preset(name: &str) -> Result<ConfigBuilder, ConfigError> {
        Ok(ConfigBuilder {
            table: presets::resolve(name)?.table,
        })
    }

    /// Starts from the preset that `text` names, with its other keys on top.
    ///
    /// # Errors
    /// Wrong syntax, an unknown preset or key, or a value of the wrong kind.
    pub fn from_toml(text: &str) -> Result<ConfigBuilder, ConfigError> {
        let mut table = parse(text)?;
        let preset = match table.remove("preset") {
            None => DEFAULT_PRESET.to_owned(),
            Some(Value::String(name)) => name,
            Some(other) => {
                return Err(wrong("preset", &other, "a preset is named by a string"));
            }
        };
        let mut builder = ConfigBuilder::preset(&preset)?;
        builder.apply(&table)?;
        Ok(builder)
    }

    /// Starts from text that has every key, or had when it was written: keys that came later are as in `base`.
    ///
    /// # Errors
    /// Wrong syntax, an unknown key, or a value of the wrong kind.
    pub(super) fn complete(text: &str) -> Result<ConfigBuilder, ConfigError> {
        let mut table = parse(text)?;
        if typed(&table).is_err() {
            fill(&mut table, &presets::resolve(presets::BASE.0)?.table);
        }
        let config =
            typed(&table).map_err(|error| ConfigError::Syntax(quoted_lines(&error.to_string())))?;
        let mut builder = ConfigBuilder::of(&config)?;
        builder.apply(&table)?;
        Ok(builder)
    }

    pub(super) fn of(config: &Config) -> Result<ConfigBuilder, ConfigError> {
        Ok(ConfigBuilder {
            table: parse(&config.to_toml()?)?,
        })
    }

    /// Changes one key, given by its dotted name; `value` is TOML, or a string
    /// without quotes.
    ///
    /// # Errors
    /// If there is no such key, or the value is of the wrong kind for it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<&mut ConfigBuilder, ConfigError> {
        let (parsed, large) = match (value.parse::<Value>(), large_number(value)) {
            (Ok(parsed), _) => (parsed, false),
            (Err(_), Some(number)) => (Value::Float(number), true),
            (Err(_), None) => (Value::String(value.to_owned()), false),
        };
        match self.apply(&Table::from_iter([(key.to_owned(), parsed)])) {
            Ok(()) => Ok(self),
            // Without the digits that a float has lost.
            Err(ConfigError::Value { key, reason, .. }) if large => Err(ConfigError::Value {
                key,
                value: quoted(value),
                reason,
            }),
            Err(error) => Err(error),
        }
    }

    /// Gives one key, by its dotted name, another value, which may be a table where a name was.
    ///
    /// # Errors
    /// If there is no such key, or the value is of the wrong kind for it.
    pub fn replace(&mut self, key: &str, value: &Value) -> Result<(), ConfigError> {
        let mut changed = self.table.clone();
        put(&mut changed, key, value)?;
        typed(&changed).map_err(|error| wrong(key, value, error.message()))?;
        self.table = changed;
        Ok(())
    }

    /// Changes one key, given as `KEY=VALUE`.
    ///
    /// # Errors
    /// If the text is not of that form, or as [`ConfigBuilder::set`].
    pub fn set_pair(&mut self, pair: &str) -> Result<&mut ConfigBuilder, ConfigError> {
        match pair.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => self.set(key.trim(), value.trim()),
            _ => Err(ConfigError::Override(quoted(pair))),
        }
    }

    /// The value of one key, by its dotted name, or a table of several.
    ///
    /// # Errors
    /// If there is no such key.
    pub(super) fn value(mut self, key: &str) -> Result<Value, ConfigError> {
        let found = find_mut(&mut self.table, key).map(|value| value.clone());
        found.ok_or_else(|| unknown(key, &self.table))
    }

    /// Every key with its value.
    pub fn leaves(&self) -> Vec<(String, Value)> {
        leaves_of(&self.table)
    }

    /// The configuration, checked.
    ///
    /// # Errors
    /// A value out of range, or values that make no drive together.
    pub fn build(&self) -> Result<Config, ConfigError> {
        let config =
            typed(&self.table).map_err(|error| ConfigError::Syntax(error.message().to_owned()))?;
        config.validate()?;
        Ok(config)
    }

    /// Puts `changes` on top; changes nothing if one of them is wrong.
    fn apply(&mut self, changes: &Table) -> Result<(), ConfigError> {
        let changes = leaves_of(changes);
        let mut changed = self.table.clone();
        for (key, value) in &changes {
            put(&mut changed, key, value)?;
        }
        let Err(error) = typed(&changed) else {
            self.table = changed;
            return Ok(());
        };
        // The deserializer of a table does not say which key it was.
        for (key, value) in &changes {
            if let Some(reason) = self.refusal(key, value)? {
                return Err(wrong(key, value, &reason));
            }
        }
        Err(ConfigError::Syntax(error.message().to_owned()))
    }

    /// What is wrong with `value` for `key`, if anything.
    fn refusal(&self, key: &str, value: &Value) -> Result<Option<String>, ConfigError> {
        let mut alone = self.table.clone();
        let was = find_mut(&mut alone, key).cloned();
        put(&mut alone, key, value)?;
        let Err(error) = typed(&alone) else {
            return Ok(None);
        };
        let list = matches!(was, Some(Value::Array(_))) && value.is_array();
        if !matches!(was, Some(Value::String(_))) || value.is_str() {
            return Ok(Some(reason::of(error.message(), list)));
        }
        // As a text, it is refused with the names that are allowed, if only some are.
        put(&mut alone, key, &Value::String(value.to_string()))?;
        let names = typed(&alone).err();
        Ok(Some(names.map_or_else(
            || "it must be a text".to_owned(),
            |error| reason::of(error.message(), false),
        )))
    }
}

/// The number that a text of digits stands for which TOML does not take: too
/// large for its integers, or with leading zeros.
fn large_number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}

/// Adds what sections lack. A choice between kinds is whole as it is.
fn fill(table: &mut Table, base: &Table) {
    for (key, value) in base {
        match (table.get_mut(key), value) {
            (None, value) => {
                table.insert(key.clone(), value.clone());
            }
            (Some(Value::Table(section)), Value::Table(base)) if !base.contains_key("kind") => {
                fill(section, base);
            }
            _ => {}
        }
    }
}

fn typed(table: &Table) -> Result<Config, toml::de::Error> {
    Value::Table(table.clone()).try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_came_after_a_text_was_written_are_those_of_the_base() {
        let config = Config::preset("mqsim-default").expect("a preset");
        let text = config.to_toml().expect("it can be written");
        let complete = ConfigBuilder::complete(&text).expect("it has all").build();
        assert_eq!(complete.as_ref().ok(), Some(&config));
        let earlier = text.replace("link_table_bytes = 4194304\n", "");
        assert_ne!(earlier, text);
        let filled = ConfigBuilder::complete(&earlier).expect("the rest is there");
        assert_eq!(filled.build().ok(), Some(config));
        let unknown = text.replace("link_table_bytes", "no_such_key");
        let refused = ConfigBuilder::complete(&unknown).map(drop);
        assert!(refused.is_err_and(|error| error.to_string().contains("no_such_key")));
    }
}
