//! Texts out of AWS's small answers in XML, event by event: no tree, no namespaces, no attributes, no entities but XML's own.
//! The work grows with the length of the text and no faster. Pure.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};
use zeroize::Zeroizing;

/// How deep elements may lie in each other. Errors and sessions of AWS are four deep.
const DEEPEST: usize = 16;

/// An element that is looked for: the name of the element around it, and its own. Namespaces do not count: each of AWS's APIs,
/// and each version, has one of its own.
pub(super) type Wanted = (&'static str, &'static str);

/// The texts that were found before the document ended, or could not be read any further.
pub(super) struct XmlTexts<const N: usize> {
    /// The trimmed text of the first element of each kind. It may be a secret.
    pub(super) texts: [Option<Zeroizing<String>>; N],
    /// The text is one whole element, and nothing is wrong with it.
    pub(super) is_whole: bool,
}

/// Reads the texts of these elements.
pub(super) fn texts<const N: usize>(xml: &str, wanted: [Wanted; N]) -> XmlTexts<N> {
    let mut reading = XmlReading { wanted, open: Vec::new(), texts: [const { None }; N], is_ended: false };
    let is_whole = reading.read(xml).is_some();
    XmlTexts { texts: reading.texts, is_whole }
}

struct XmlReading<const N: usize> {
    wanted: [Wanted; N],
    /// The elements that are open, the outermost first, with the text in them.
    open: Vec<(String, Zeroizing<String>)>,
    texts: [Option<Zeroizing<String>>; N],
    /// The outermost element has ended.
    is_ended: bool,
}

impl<const N: usize> XmlReading<N> {
    /// `None` if it cannot be read to its end.
    fn read(&mut self, xml: &str) -> Option<()> {
        let mut reader = Reader::from_str(xml);
        loop {
            match reader.read_event().ok()? {
                Event::Start(start) => self.begin(start.local_name().as_ref())?,
                Event::Empty(empty) => {
                    self.begin(empty.local_name().as_ref())?;
                    self.end()?;
                }
                Event::End(_) => self.end()?,
                Event::Text(text) => self.append(&text.xml10_content()),
                Event::CData(data) => self.append(&data.xml10_content()),
                Event::GeneralRef(reference) => self.append(&resolve(&reference)?),
                // It could define what a text means.
                Event::DocType(_) => return None,
                Event::Eof => return (self.is_ended && self.open.is_empty()).then_some(()),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            }
        }
    }

    fn begin(&mut self, name: &str) -> Option<()> {
        if self.open.len() == DEEPEST || self.is_ended {
            return None;
        }
        self.open.push((name.to_owned(), Zeroizing::default()));
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        let (name, text) = self.open.pop()?;
        self.is_ended = self.open.is_empty();
        let around = self.open.last().map_or("", |(name, _)| name);
        for (wanted, found) in self.wanted.iter().zip(&mut self.texts) {
            if *wanted == (around, name.as_str()) && found.is_none() {
                *found = Some(Zeroizing::new(text.trim().to_owned()));
            }
        }
        Some(())
    }

    fn append(&mut self, text: &str) {
        if let Some((_, own)) = self.open.last_mut() {
            own.push_str(text);
        }
    }
}

/// The text that `&amp;` or `&#65;` stands for.
fn resolve(reference: &BytesRef<'_>) -> Option<String> {
    if let Some(letter) = reference.resolve_char_ref().ok()? {
        return Some(letter.to_string());
    }
    resolve_predefined_entity(&reference.xml10_content()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(xml: &str) -> (Option<String>, bool) {
        let XmlTexts { texts: [code], is_whole } = texts(xml, [("Error", "Code")]);
        (code.map(|it| it.to_string()), is_whole)
    }

    #[test]
    fn the_first_element_of_a_kind_is_read() {
        let xml = "<?xml version=\"1.0\"?><R xmlns=\"a\"><!-- b --><Code>no</Code><e:Error xmlns:e=\"c\"><Type/><e:Code> A&amp;\
                   <![CDATA[B]]>&#67; </e:Code><Code>D</Code></e:Error></R>";
        assert_eq!(code(xml), (Some("A&BC".to_owned()), true));
        assert_eq!(code("<Error><Code/></Error>"), (Some(String::new()), true));
        assert_eq!(code("<Error><a><Code>A</Code></a></Error>"), (None, true));
        assert_eq!(code("<Code>A</Code>"), (None, true));
    }

    #[test]
    fn a_code_before_the_text_breaks_off_counts() {
        for end in ["", "<", "<a", "</", "&", "<!--", "</a>", "<![CDATA[", "<!DOCTYPE a>", "</Error><b/>"] {
            assert_eq!(code(&format!("<Error><Code>A</Code>{end}")), (Some("A".to_owned()), false), "{end}");
        }
        for cut in [
            "",
            "{}",
            "<Error><Code>A",
            "<Error><Code>A</Cod",
            "<Error><Code>A</Code",
            "<Error><Code>&b;</Code></Error>",
        ] {
            assert_eq!(code(cut), (None, false), "{cut}");
        }
    }

    #[test]
    fn an_element_that_is_too_deep_is_not_read() {
        let within =
            |depth: usize| format!("{}<Error><Code>A</Code></Error>{}", "<a>".repeat(depth), "</a>".repeat(depth));
        assert_eq!(code(&within(DEEPEST - 2)), (Some("A".to_owned()), true));
        assert_eq!(code(&within(DEEPEST - 1)), (None, false));
    }
}
