//! Tables of keys and values: reading them, changing a value by its dotted key, and which key was probably meant.

use toml::{Table, Value};

use super::error::{ConfigError, quoted, quoted_lines};

/// The longest name for which similar ones are looked for.
const NAME_BYTES_MAX: usize = 200;

pub(super) fn wrong(key: &str, value: &Value, reason: &str) -> ConfigError {
    ConfigError::Value {
        key: quoted(key),
        value: quoted(&value.to_string()),
        reason: quoted_lines(reason),
    }
}

pub(super) fn parse(text: &str) -> Result<Table, ConfigError> {
    text.parse::<Table>()
        .map_err(|error| ConfigError::Syntax(quoted_lines(&error.to_string())))
}

/// Changes the value of a dotted `key`, which must be in `table` already.
pub(super) fn put(table: &mut Table, key: &str, value: &Value) -> Result<(), ConfigError> {
    let Some(place) = find_mut(table, key) else {
        return Err(unknown(key, table));
    };
    *place = match (&*place, value) {
        // A section without keys changes nothing.
        (Value::Table(_), Value::Table(_)) => return Ok(()),
        (Value::Table(_), _) => {
            return Err(wrong(key, value, "it is a table of keys, not a value"));
        }
        (Value::Float(_), Value::Integer(whole)) => Value::Float(*whole as f64),
        _ => value.clone(),
    };
    Ok(())
}

/// That there is no such key in `table`.
pub(super) fn unknown(key: &str, table: &Table) -> ConfigError {
    ConfigError::UnknownKey {
        key: quoted(key),
        nearest: nearest_key(key, table),
    }
}

pub(super) fn find_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    let mut parts = key.split('.');
    let mut place = table.get_mut(parts.next()?)?;
    for part in parts {
        place = place.as_table_mut()?.get_mut(part)?;
    }
    Some(place)
}

/// Every dotted key of `table` that has a value of its own, or no keys below it.
pub(super) fn leaves_of(table: &Table) -> Vec<(String, Value)> {
    let mut leaves = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.is_empty() => {
                let below = leaves_of(inner).into_iter();
                leaves.extend(below.map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            value => leaves.push((key.clone(), value.clone())),
        }
    }
    leaves
}

/// The key of `table`, or a table in it, that `key` was probably meant to be.
fn nearest_key(key: &str, table: &Table) -> Option<String> {
    let mut known: Vec<String> = Vec::new();
    for (leaf, _) in leaves_of(table) {
        let borders = leaf.match_indices('.').map(|(border, _)| border);
        for table in borders.map(|border| &leaf[..border]) {
            if !known.iter().any(|known| known == table) {
                known.push(table.to_owned());
            }
        }
        known.push(leaf);
    }
    // Who gives no table at all means a key of any.
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    if !key.contains('.') && known.iter().any(|known| last(known) == key) {
        return known.into_iter().find(|known| last(known) == key);
    }
    most_similar(key, &known)
}

/// The candidate most similar to `name`; none if all are far off.
pub fn most_similar(name: &str, candidates: &[String]) -> Option<String> {
    // Comparing takes time with the product of the lengths, and no name is nearly so long.
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let score = |candidate: &String| strsim::normalized_damerau_levenshtein(name, candidate);
    let best = candidates
        .iter()
        .max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(best) > 0.5).then(|| best.clone())
}
