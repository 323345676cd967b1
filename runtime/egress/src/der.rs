//! Elements of DER: a tag, a length, and as many bytes. Pure.

/// The tag of a number.
pub const INTEGER: u8 = 0x02;
/// The tag of bits: in front of them a byte says how many of the last one do not count.
pub const BIT_STRING: u8 = 0x03;
/// The tag of a time whose year has two digits.
pub const UTC_TIME: u8 = 0x17;
/// The tag of a time whose year has four.
pub const GENERALIZED_TIME: u8 = 0x18;
/// The tag of elements in a row.
pub const SEQUENCE: u8 = 0x30;

/// An element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DerElement<'a> {
    /// Its tag.
    pub tag: u8,
    /// As many bytes as its length says.
    pub content: &'a [u8],
}

impl<'a> DerElement<'a> {
    /// The element with which these bytes begin, and the bytes after it.
    #[must_use]
    pub fn first(der: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&[tag, first], rest) = der.split_first_chunk()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (digits.iter().fold(0, |length, it| length << 8 | usize::from(*it)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        Some((Self { tag, content }, rest))
    }

    /// The element that all of these bytes are.
    #[must_use]
    pub fn only(der: &'a [u8]) -> Option<Self> {
        Self::first(der).filter(|(_, rest)| rest.is_empty()).map(|(it, _)| it)
    }

    /// Its content, if it has this tag.
    #[must_use]
    pub fn tagged(self, tag: u8) -> Option<&'a [u8]> {
        (self.tag == tag).then_some(self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_has_as_many_bytes_as_it_says() {
        let check = |der: &[u8], expected: Option<(u8, usize, usize)>| {
            let found = DerElement::first(der).map(|(it, rest)| (it.tag, it.content.len(), rest.len()));
            assert_eq!(found, expected, "{der:02x?}");
        };
        check(b"\x02\x01\x05\x05\x00", Some((INTEGER, 1, 2)));
        check(b"\x30\x00", Some((SEQUENCE, 0, 0)));
        check(b"\x03\x81\x02ab", Some((BIT_STRING, 2, 0)));
        check(b"\x03\x82\x00\x02abc", Some((BIT_STRING, 2, 1)));
        for damaged in [&b""[..], b"\x30", b"\x30\x01", b"\x30\x81", b"\x30\x82\x01\x00", b"\x30\x80\x00\x00"] {
            check(damaged, None);
        }
        check(b"\x30\x84\xff\xff\xff\xff\x00", None);
        check(b"\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff", None);
    }

    #[test]
    fn an_element_is_all_or_has_another_tag() {
        let integer = DerElement::only(b"\x02\x01\x05").unwrap();
        assert_eq!((integer.tagged(INTEGER), integer.tagged(SEQUENCE)), (Some(&b"\x05"[..]), None));
        assert_eq!(DerElement::only(b"\x02\x01\x05\x00"), None);
    }
}
