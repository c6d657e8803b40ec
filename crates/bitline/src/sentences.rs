//! Numbers in sentences.

/// A number of things, in the singular or the plural, which ends in s: 1 page, 2,000 pages.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", thousands(count as f64, 0))
}

/// A number with so many digits behind the point and its thousands apart.
pub(crate) fn thousands(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut apart = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        let told = [0, 1, 2, 12_345].map(|count| counted(count, "page"));
        assert_eq!(told, ["0 pages", "1 page", "2 pages", "12,345 pages"]);
    }

    #[test]
    fn thousands_are_apart() {
        let told = [0.0, 999.0, 1000.0, 1_234_567.8].map(|value| thousands(value, 0));
        assert_eq!(told, ["0", "999", "1,000", "1,234,568"]);
        assert_eq!(thousands(1234.56, 1), "1,234.6");
    }
}
