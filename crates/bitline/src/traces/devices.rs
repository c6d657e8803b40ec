//! The devices that a trace names, numbered as they appear.

use std::collections::BTreeMap;

use super::LineError;

/// Alibaba's traces, the widest known, name a thousand.
const DEVICES_MAX: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Devices {
    names: Vec<String>,
    numbers: BTreeMap<Box<[u8]>, u32>,
    /// Most lines name the device of the line before.
    last: Option<(Box<[u8]>, u32)>,
}

impl Devices {
    /// The number of the device whose name a line spells as `spelling`.
    pub(super) fn number(&mut self, spelling: &[u8]) -> Result<u32, LineError> {
        if let Some((last, number)) = &self.last
            && **last == *spelling
        {
            return Ok(*number);
        }
        let number = match self.numbers.get(spelling) {
            Some(number) => *number,
            None => self.add(spelling)?,
        };
        match &mut self.last {
            // Reuses the memory where names are equally long, as they mostly are.
            Some((last, last_number)) if last.len() == spelling.len() => {
                last.copy_from_slice(spelling);
                *last_number = number;
            }
            last => *last = Some((spelling.into(), number)),
        }
        Ok(number)
    }

    fn add(&mut self, spelling: &[u8]) -> Result<u32, LineError> {
        if self.names.len() == DEVICES_MAX {
            return Err(LineError::TooManyDevices(DEVICES_MAX));
        }
        let number = self.names.len() as u32;
        self.names
            .push(String::from_utf8_lossy(spelling).into_owned());
        self.numbers.insert(spelling.into(), number);
        Ok(number)
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}
