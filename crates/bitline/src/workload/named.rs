//! Short forms in configurations: `"random"` for `{ kind = "random" }`, `8` for
//! `{ kind = "fixed", blocks = 8 }`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A table with its `kind`, or the kind alone.
pub(super) fn name_or_table<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(Short::<T> {
        number: None,
        expected: "a name, or a table with its kind",
        value: PhantomData,
    })
}

/// A table with its `kind`, or a number that stands for `kind = "fixed"`.
pub(super) fn number_or_table<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + From<u32>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(Short::<T> {
        number: Some(T::from),
        expected: "a whole number, or a table with its kind",
        value: PhantomData,
    })
}

struct Short<T> {
    number: Option<fn(u32) -> T>,
    expected: &'static str,
    value: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Short<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        if self.number.is_some() {
            return Err(E::invalid_type(serde::de::Unexpected::Str(name), &self));
        }
        T::deserialize(MapDeserializer::new([("kind", name)].into_iter()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let unexpected = serde::de::Unexpected::Unsigned(number);
        match (self.number, u32::try_from(number)) {
            (Some(make), Ok(number)) => Ok(make(number)),
            (Some(_), Err(_)) => Err(E::invalid_value(unexpected, &"u32")),
            (None, _) => Err(E::invalid_type(unexpected, &self)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => {
                let unexpected = serde::de::Unexpected::Signed(number);
                Err(match self.number {
                    Some(_) => E::invalid_value(unexpected, &"u32"),
                    None => E::invalid_type(unexpected, &self),
                })
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}
