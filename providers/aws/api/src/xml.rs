//! Answers in XML. A long list is read item by item, so that its text and one item are all that is in memory.

use std::fmt;
use std::vec;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

/// How deep elements may lie in each other. AWS's are less than ten deep.
const DEEPEST: usize = 32;
/// How many elements are kept at once, beside those that were handed over. An item of a list has some thousands at most.
const KEPT: usize = 50_000;

/// An element: its text, and the elements in it. Attributes and namespaces are left out: AWS's answers say nothing in them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Element {
    name: String,
    text: String,
    children: Vec<Element>,
}

/// Why an answer cannot be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Unreadable(String);

impl Unreadable {
    fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for Unreadable {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Element {
    /// How many elements it is, with those in it.
    #[inline]
    fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// The first element of this name in it.
    #[must_use]
    #[inline]
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|it| it.name == name)
    }

    /// The text of the element at this path of names; `None` if it is missing or empty.
    #[must_use]
    #[inline]
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        let found = path.iter().try_fold(self, |it, name| it.child(name))?;
        Some(found.text.trim()).filter(|it| !it.is_empty())
    }

    /// The items of the list of this name, which EC2 calls `item` and load balancing `member`; none if it is missing.
    #[must_use]
    #[inline]
    pub fn items(&self, list: &str) -> vec::IntoIter<&Element> {
        let all = self.child(list).map_or(&[][..], |it| &it.children[..]);
        let items: Vec<_> = all.iter().filter(|it| matches!(&*it.name, "item" | "member")).collect();
        items.into_iter()
    }

    /// The texts of this field in all items of a list that have it.
    #[must_use]
    #[inline]
    pub fn each(&self, list: &str, field: &str) -> Vec<String> {
        self.items(list).filter_map(|it| it.text(&[field])).map(str::to_owned).collect()
    }

    /// The texts in the list of this name, whose items are text alone.
    #[must_use]
    #[inline]
    pub fn texts(&self, list: &str) -> Vec<String> {
        self.items(list).map(|it| it.text.trim()).filter(|it| !it.is_empty()).map(str::to_owned).collect()
    }

    /// The tags of a resource of EC2: key and value.
    #[must_use]
    #[inline]
    pub fn tags(&self) -> Vec<(String, String)> {
        let tag =
            |it: &Element| Some((it.text(&["key"])?.to_owned(), it.text(&["value"]).unwrap_or_default().to_owned()));
        self.items("tagSet").filter_map(tag).collect()
    }
}

/// Reads all of an answer.
#[inline]
pub(crate) fn read(body: &[u8]) -> Result<Element, Unreadable> {
    read_each(body, &[], &mut |_| ())
}

/// Reads an answer, and hands over each element at this path of names under the outermost one, as soon as it is read. Returns
/// the answer without the lists on the path.
#[inline]
pub(crate) fn read_each(body: &[u8], path: &[&str], each: &mut dyn FnMut(Element)) -> Result<Element, Unreadable> {
    let mut reader = Reader::from_str(str::from_utf8(body).map_err(Unreadable::new)?);
    // The elements that are open, the outermost first.
    let mut open: Vec<Element> = Vec::new();
    let (mut outermost, mut kept) = (None, 0_usize);
    loop {
        match reader.read_event().map_err(Unreadable::new)? {
            Event::Start(start) => begin(&mut open, &mut kept, start.local_name().as_ref())?,
            Event::Empty(empty) => {
                begin(&mut open, &mut kept, empty.local_name().as_ref())?;
                kept -= end(&mut open, path, each, &mut outermost)?;
            }
            Event::End(_) => kept -= end(&mut open, path, each, &mut outermost)?,
            Event::Text(text) => append(&mut open, &text.xml10_content()),
            Event::CData(data) => append(&mut open, &data.xml10_content()),
            Event::GeneralRef(reference) => append(&mut open, &resolve(&reference)?),
            Event::DocType(_) => return Err(Unreadable::new("it defines its own document type")),
            Event::Eof => break,
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
        }
    }
    match outermost {
        Some(it) if open.is_empty() => Ok(it),
        _ => Err(Unreadable::new("it is cut off, or no XML")),
    }
}

#[inline]
fn begin(open: &mut Vec<Element>, kept: &mut usize, name: &str) -> Result<(), Unreadable> {
    *kept += 1;
    if *kept > KEPT {
        return Err(Unreadable::new(format_args!("it has more than {KEPT} elements beside those of its list")));
    }
    if open.len() == DEEPEST {
        return Err(Unreadable::new(format_args!("elements lie in each other more than {DEEPEST} deep")));
    }
    open.push(Element { name: name.to_owned(), ..Element::default() });
    Ok(())
}

/// Closes the innermost element: hands it over, keeps it, or, where it lies on the path, lets it go. Answers how many elements are
/// kept no longer.
#[inline]
fn end(
    open: &mut Vec<Element>,
    path: &[&str],
    each: &mut dyn FnMut(Element),
    outermost: &mut Option<Element>,
) -> Result<usize, Unreadable> {
    let closed = open.pop().ok_or_else(|| Unreadable::new("an element ends that has not begun"))?;
    let around = open.iter().skip(1).map(|it| it.name.as_str()).chain([closed.name.as_str()]);
    let on_path = path.iter().zip(around).take_while(|(wanted, name)| *wanted == name).count();
    let depth = open.len();
    match open.last_mut() {
        None if outermost.is_some() => return Err(Unreadable::new("there are two outermost elements")),
        None => *outermost = Some(closed),
        Some(_) if on_path == depth && on_path == path.len() => {
            let count = closed.count();
            each(closed);
            return Ok(count);
        }
        // Around lists of load balancing stands one element, which says where the next page begins.
        Some(parent) if on_path == depth && depth == 1 && !closed.children.is_empty() => parent.children.push(closed),
        Some(_) if on_path == depth => return Ok(closed.count()),
        Some(parent) => parent.children.push(closed),
    }
    Ok(0)
}

/// Adds text to the innermost element. Between outermost elements there is none that counts.
#[inline]
fn append(open: &mut [Element], text: &str) {
    if let Some(it) = open.last_mut() {
        it.text.push_str(text);
    }
}

/// The text that `&amp;` or `&#65;` stands for.
#[inline]
fn resolve(reference: &BytesRef<'_>) -> Result<String, Unreadable> {
    if let Some(letter) = reference.resolve_char_ref().map_err(Unreadable::new)? {
        return Ok(letter.to_string());
    }
    let name = reference.xml10_content();
    let text = resolve_predefined_entity(&name);
    text.map(str::to_owned).ok_or_else(|| Unreadable::new(format_args!("it refers to {name:?}, which is nothing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
        <R xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
            <requestId>r</requestId>
            <set><item><owner>o</owner><inner><item><id>1</id></item><item><id>2</id></item></inner></item>
                <item><inner/></item><item><inner><item><id>3</id></item></inner></item></set>
            <next>t &amp; &#65;<![CDATA[<b>]]></next>
        </R>"#;

    #[test]
    fn items_come_one_by_one_and_are_not_kept() {
        let mut ids = Vec::new();
        let path = ["set", "item", "inner", "item"];
        let rest =
            read_each(LIST.as_bytes(), &path, &mut |it| ids.extend(it.text(&["id"]).map(str::to_owned))).unwrap();
        assert_eq!(ids, ["1", "2", "3"]);
        assert_eq!((rest.text(&["requestId"]), rest.text(&["next"])), (Some("r"), Some("t & A<b>")));
        assert_eq!(rest.child("set"), None);
    }

    #[test]
    fn elements_beside_a_list_are_kept() {
        let text =
            "<R><Result><List><member>1</member><member>2</member></List><NextMarker>m</NextMarker></Result></R>";
        let mut count = 0;
        let rest = read_each(text.as_bytes(), &["Result", "List", "member"], &mut |_| count += 1).unwrap();
        assert_eq!((count, rest.text(&["Result", "NextMarker"])), (2, Some("m")));
        assert_eq!(rest.child("Result").unwrap().child("List"), None);
    }

    #[test]
    fn a_whole_answer_is_read() {
        let whole = read(LIST.as_bytes()).unwrap();
        let inner: Vec<_> = whole.items("set").map(|it| it.items("inner").count()).collect();
        assert_eq!(inner, [2, 0, 1]);
        assert_eq!(whole.items("none").count(), 0);
        assert_eq!(whole.text(&["set", "item", "owner"]), Some("o"));
        assert_eq!(whole.text(&["set"]), None, "white space is no text");
    }

    #[test]
    fn adv_158_elements_without_end_are_not_kept() {
        let list = |count: usize| format!("<R><set>{}</set></R>", "<item><id/></item>".repeat(count));
        let mut count = 0;
        read_each(list(KEPT).as_bytes(), &["set", "item"], &mut |_| count += 1).unwrap();
        assert_eq!(count, KEPT, "items that are handed over are not kept");
        assert!(read(list(KEPT / 2 - 1).as_bytes()).is_ok());
        let why = read(list(KEPT / 2).as_bytes()).unwrap_err().to_string();
        assert!(why.contains("more than 50000 elements"), "{why}");
        let one = format!("<R><set><item>{}</item></set></R>", "<a/>".repeat(KEPT));
        assert!(read_each(one.as_bytes(), &["set", "item"], &mut |_| ()).is_err());
    }

    #[test]
    fn a_document_that_is_no_whole_xml_is_refused() {
        let deep = format!("{}{}", "<a>".repeat(40), "</a>".repeat(40));
        let entities = r#"<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>"#;
        for text in ["", "{}", "<a>", "<a></b>", "<a/><b/>", "</a>", "<a>&c;</a>", "<a", entities, &deep] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read(b"<a>\xff</a>").is_err());
    }
}
