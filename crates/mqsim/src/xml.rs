//! XML as a tree of elements that know their lines.

use std::path::Path;

use quick_xml::events::Event;
use quick_xml::{Reader, escape};

use crate::error::MqsimError;

/// An element: its name, its text, and what is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    pub(super) name: String,
    /// The line of its start tag, counted from 1.
    pub(super) line: usize,
    /// Its text without the blanks around it.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

/// Reads the one root element of `text`, which is the content of `file`.
///
/// # Errors
/// Anything that is no well-formed XML, and attributes, which these files have none of.
pub(super) fn parse(text: &str, file: &Path) -> Result<Element, MqsimError> {
    let mut reader = Reader::from_str(text);
    let line_at = |position: u64| {
        let before = &text.as_bytes()[..text.len().min(position as usize)];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    };
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    loop {
        let begin = reader.buffer_position();
        let event = reader.read_event().map_err(|error| {
            let line = line_at(reader.error_position());
            MqsimError::at(file, line, format!("this is no XML: {error}"))
        })?;
        let line = line_at(begin);
        let wrong = |what: String| Err(MqsimError::at(file, line, what));
        match event {
            Event::Start(tag) | Event::Empty(tag) if root.is_some() => {
                return wrong(format!(
                    "<{}> follows the root element",
                    name_of(tag.name())
                ));
            }
            Event::Start(tag) => open.push(element(&tag, line, file)?),
            Event::Empty(tag) => close(element(&tag, line, file)?, &mut open, &mut root),
            Event::End(_) => {
                if let Some(done) = open.pop() {
                    close(done, &mut open, &mut root);
                }
            }
            Event::Text(part) => {
                let part = part.decode().unwrap_or_default();
                match open.last_mut() {
                    Some(element) => element.text.push_str(part.trim()),
                    None if part.trim().is_empty() => {}
                    None => return wrong(format!("{:?} is outside of any element", part.trim())),
                }
            }
            Event::CData(part) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&String::from_utf8_lossy(&part));
                }
            }
            Event::GeneralRef(name) => {
                let name = String::from_utf8_lossy(&name).into_owned();
                let Ok(meant) = escape::unescape(&format!("&{name};")).map(String::from) else {
                    return wrong(format!("&{name}; means nothing"));
                };
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&meant);
                }
            }
            Event::Eof => break,
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_) => {}
        }
    }
    let end = line_at(text.len() as u64);
    if let Some(unclosed) = open.last() {
        let what = format!("<{}> is never closed", unclosed.name);
        return Err(MqsimError::at(file, unclosed.line, what));
    }
    root.ok_or_else(|| MqsimError::at(file, end, "there is no element in this file"))
}

fn name_of(name: quick_xml::name::QName<'_>) -> String {
    String::from_utf8_lossy(name.as_ref()).into_owned()
}

fn element(
    tag: &quick_xml::events::BytesStart<'_>,
    line: usize,
    file: &Path,
) -> Result<Element, MqsimError> {
    let name = name_of(tag.name());
    if !tag.attributes_raw().iter().all(u8::is_ascii_whitespace) {
        let what = format!("<{name}> has attributes, which mean nothing here");
        return Err(MqsimError::at(file, line, what));
    }
    Ok(Element {
        name,
        line,
        text: String::new(),
        children: Vec::new(),
    })
}

/// Puts a finished element where it belongs.
fn close(done: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(done),
        None => *root = Some(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        match parse(text, Path::new("some.xml")) {
            Ok(root) => panic!("{root:?} was read"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn elements_know_their_lines() {
        let text = "<?xml version=\"1.0\" encoding=\"us-ascii\"?>\n<A>\n\t<B>1</B>\n<!-- no -->\t<C/>\n</A>\n";
        let root = parse(text, Path::new("a.xml")).expect("well-formed");
        let places: Vec<_> = root
            .children
            .iter()
            .map(|child| (child.name.as_str(), child.line, child.text.as_str()))
            .collect();
        assert_eq!((root.name.as_str(), root.line), ("A", 2));
        assert_eq!(places, [("B", 3, "1"), ("C", 4, "")]);
    }

    #[test]
    fn text_keeps_what_entities_mean() {
        let root = parse("<A>x &lt; y &amp;c</A>", Path::new("a.xml")).expect("well-formed");
        assert_eq!(root.text.replace(' ', ""), "x<y&c");
    }

    #[test]
    fn errors_name_file_and_line() {
        let unmatched = error_of("<A>\n<B>1</C>\n</A>");
        assert!(
            unmatched.starts_with("some.xml:2: this is no XML"),
            "{unmatched}"
        );
        assert_eq!(error_of("<A>\n<B>"), "some.xml:2: <B> is never closed");
        assert_eq!(
            error_of("\n\n"),
            "some.xml:3: there is no element in this file"
        );
        assert_eq!(
            error_of("<A>\n<B x=\"1\">1</B></A>"),
            "some.xml:2: <B> has attributes, which mean nothing here"
        );
        assert_eq!(
            error_of("<A/>\n<B/>"),
            "some.xml:1: <B> follows the root element".replace(":1:", ":2:")
        );
        assert_eq!(
            error_of("x<A/>"),
            "some.xml:1: \"x\" is outside of any element"
        );
    }
}
