//! What a slice says of itself: keys with numbers or words, none of which is made while recording.

use super::ids::{Requester, TraceId};
use crate::energy::Tenant;

/// What an argument tells, its unit last in its name.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    pub(super) name: &'static str,
    pub(super) kind: KeyKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// One value.
    One,
    /// As many as are told one after another.
    Many,
    /// Tenants, by name.
    Tenants,
    /// The commands that the slice is for.
    Commands,
}

/// For whom a slice is.
pub(super) static TENANTS: Key = Key {
    name: "tenants",
    kind: KeyKind::Tenants,
};
/// The commands that it is for.
pub(super) static COMMANDS: Key = Key {
    name: "commands",
    kind: KeyKind::Commands,
};

impl Key {
    /// A key with one value.
    pub const fn one(name: &'static str) -> Key {
        Key {
            name,
            kind: KeyKind::One,
        }
    }

    /// A key with a list of values.
    pub const fn many(name: &'static str) -> Key {
        Key {
            name,
            kind: KeyKind::Many,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Number(u64),
    Word(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Arg {
    pub(super) key: &'static Key,
    pub(super) value: Value,
}

/// The arguments of one slice.
#[derive(Debug, Default)]
pub struct Args(Vec<Arg>);

impl Args {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn as_slice(&self) -> &[Arg] {
        &self.0
    }

    fn push(&mut self, key: &'static Key, value: Value) -> &mut Args {
        self.0.push(Arg { key, value });
        self
    }

    /// A number.
    pub fn number(&mut self, key: &'static Key, number: impl Into<u64>) -> &mut Args {
        self.push(key, Value::Number(number.into()))
    }

    /// A number, if it is known.
    pub fn known(&mut self, key: &'static Key, number: Option<impl Into<u64>>) -> &mut Args {
        match number {
            Some(number) => self.number(key, number),
            None => self,
        }
    }

    /// A word.
    pub fn word(&mut self, key: &'static Key, word: &'static str) -> &mut Args {
        self.push(key, Value::Word(word))
    }

    /// A list of numbers; nothing is said if there are none.
    pub fn numbers(
        &mut self,
        key: &'static Key,
        numbers: impl IntoIterator<Item = impl Into<u64>>,
    ) -> &mut Args {
        debug_assert_eq!(key.kind, KeyKind::Many, "{} is a list", key.name);
        for number in numbers {
            self.number(key, number);
        }
        self
    }

    /// For whom it is, and the commands, each named once.
    pub fn requesters(&mut self, requesters: impl Iterator<Item = Requester> + Clone) -> &mut Args {
        let tenants = requesters.clone().map(|requester| requester.tenant);
        self.each_once(&TENANTS, tenants.map(|Tenant(number)| u64::from(number)));
        self.commands(requesters.map(|requester| requester.trace))
    }

    /// The commands that it is for, each named once.
    pub fn commands(&mut self, commands: impl Iterator<Item = TraceId>) -> &mut Args {
        let commands = commands.filter(|command| *command != TraceId::NONE);
        self.each_once(&COMMANDS, commands.map(|TraceId(number)| u64::from(number)));
        self
    }

    fn each_once(&mut self, key: &'static Key, numbers: impl Iterator<Item = u64>) {
        let first = self.0.len();
        for number in numbers {
            let value = Value::Number(number);
            if self.0[first..].iter().all(|arg| arg.value != value) {
                self.push(key, value);
            }
        }
    }
}
