//! From the deserializer's words for what is wrong with a value to what would
//! be right, in words of the configuration.

/// What would be right, given the deserializer's `message` about a value; `list`
/// tells whether it is a list where one belongs, so that an element is wrong.
pub(super) fn of(message: &str, list: bool) -> String {
    // Its messages end in ", expected WHAT"; those of our own types do not. A table where a name of a
    // choice belongs is told in other words.
    let expected = match message.rsplit_once(", expected ") {
        Some((_, expected)) => expected,
        None if message.starts_with("wanted exactly 1 element") => "string",
        None => return message.to_owned(),
    };
    let what = match expected {
        "u8" => whole_number(u8::MAX.into()),
        "u16" => whole_number(u16::MAX.into()),
        "u32" => whole_number(u32::MAX.into()),
        // No integer of TOML is larger.
        "u64" => whole_number(i64::MAX as u64),
        "f32" | "f64" => "a number".to_owned(),
        "bool" | "a boolean" => "true or false".to_owned(),
        "a string" | "string" => "a text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table of keys".to_owned(),
        other if other.starts_with("struct ") => "a table of keys".to_owned(),
        other => other.strip_prefix("an array of length ").map_or_else(
            || other.to_owned(),
            |length| format!("a list of {length} values"),
        ),
    };
    let subject = if list && !what.starts_with("a list") {
        "each of its values"
    } else {
        "it"
    };
    format!("{subject} must be {what}")
}

fn whole_number(most: u64) -> String {
    format!("a whole number from 0 to {most}")
}
