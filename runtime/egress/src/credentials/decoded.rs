//! Finds texts in the forms in which services echo what they were sent: escaped, in base64, in hexadecimal, and these
//! within each other.
//!
//! Everything that can be undone is undone, and compared then. The work grows with the length of the text and no faster:
//! what is undone is shorter, there are few rounds, and base64 or hexadecimal that is too short is skipped.

use std::borrow::Cow;

use memchr::{memchr, memchr3, memmem};
use zeroize::Zeroizing;

/// So many escapes within each other are undone.
const ESCAPES: usize = 4;
/// So many times base64 or hexadecimal within each other.
const PACKINGS: usize = 2;
/// An escape that begins just before a text, or ends just after it, may swallow so many of its bytes.
const SWALLOWED: usize = 4;
/// Shorter texts are compared as a whole.
const LONG: usize = 24;
/// The named HTML entities of visible ASCII characters.
const ENTITIES: [(&str, u8); 32] = [
    ("amp", b'&'),
    ("apos", b'\''),
    ("ast", b'*'),
    ("bsol", b'\\'),
    ("colon", b':'),
    ("comma", b','),
    ("commat", b'@'),
    ("dollar", b'$'),
    ("equals", b'='),
    ("excl", b'!'),
    ("grave", b'`'),
    ("gt", b'>'),
    ("Hat", b'^'),
    ("lbrace", b'{'),
    ("lbrack", b'['),
    ("lcub", b'{'),
    ("lowbar", b'_'),
    ("lpar", b'('),
    ("lsqb", b'['),
    ("lt", b'<'),
    ("num", b'#'),
    ("percnt", b'%'),
    ("period", b'.'),
    ("plus", b'+'),
    ("quest", b'?'),
    ("quot", b'"'),
    ("rcub", b'}'),
    ("rpar", b')'),
    ("rsqb", b']'),
    ("semi", b';'),
    ("sol", b'/'),
    ("vert", b'|'),
];

/// So many bytes of a long text are searched at once, beside those before them: what is undone meanwhile takes four times as many.
pub(super) const WINDOW: usize = 256 << 10;
/// The most bytes that one byte of a text becomes in two forms within each other: six, as in `\u{61}`, for each of six. Longer
/// forms are found as long as no end of a window cuts them.
const EXPANSION: usize = 6 * 6;

/// A text that is looked for.
pub(super) struct Needle {
    /// The text as it is, and as it is if what looks like an escape in it is undone: that happens to what it stands in.
    forms: Vec<Zeroizing<Vec<u8>>>,
    /// The length of the text.
    length: usize,
}

impl Needle {
    pub(super) fn new(text: &[u8]) -> Self {
        let mut forms = vec![Zeroizing::new(text.to_vec())];
        while let Some(next) = forms.last().and_then(|it| unescape(it)).filter(|_| forms.len() <= ESCAPES) {
            forms.push(Zeroizing::new(next));
        }
        for form in &mut forms {
            if form.len() >= LONG {
                *form = Zeroizing::new(form[SWALLOWED..form.len() - SWALLOWED].to_vec());
            }
        }
        Self { forms, length: text.len() }
    }
}

/// Looks for several texts at once: what has to be undone is undone once for all of them.
pub(super) struct Search<'a> {
    forms: Vec<&'a [u8]>,
    /// The length of the shortest form.
    shortest: usize,
    /// So many bytes before a window are searched with it: the longest text, in the longest forms, begins in them.
    overlap: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(needles: impl Iterator<Item = &'a Needle>) -> Self {
        let (mut forms, mut longest) = (Vec::new(), 0);
        for needle in needles {
            forms.extend(needle.forms.iter().map(|it| it.as_slice()));
            longest = longest.max(needle.length);
        }
        let shortest = forms.iter().map(|it| it.len()).min().unwrap_or_default();
        Self { forms, shortest, overlap: longest * EXPANSION }
    }

    /// Whether `text` holds one of them in one of the usual forms. Its first `known` bytes have been searched before.
    ///
    /// The memory that it takes does not grow with the text.
    pub(super) fn finds(&self, text: &[u8], known: usize) -> bool {
        self.finds_by(WINDOW, text, known)
    }

    /// The same, with windows of so many bytes.
    fn finds_by(&self, window: usize, text: &[u8], known: usize) -> bool {
        if self.forms.is_empty() {
            return false;
        }
        let mut begin = known;
        loop {
            let end = text.len().min(begin.saturating_add(window));
            if self.is_within(&text[begin.saturating_sub(self.overlap)..end], PACKINGS) {
                return true;
            }
            if end == text.len() {
                return false;
            }
            begin = end;
        }
    }

    fn is_within(&self, text: &[u8], packings: usize) -> bool {
        let mut text = Cow::Borrowed(text);
        for _ in 0..=ESCAPES {
            if self.forms.iter().any(|it| memmem::find(&text, it).is_some()) {
                return true;
            }
            if packings > 0 && self.is_packed(&text, packings - 1) {
                return true;
            }
            match unescape(&text) {
                Some(next) => text = Cow::Owned(next),
                None => break,
            }
        }
        false
    }

    /// Whether one is in what `text` holds in base64 or hexadecimal.
    fn is_packed(&self, text: &[u8], packings: usize) -> bool {
        [&BASE64, &HEX].into_iter().any(|packing| {
            let digits = packing.digits(text, self.shortest);
            // Nobody knows with which digit of a run the first byte begins.
            let mut starts = 0..packing.group.min(digits.len());
            starts.any(|start| self.is_within(&packing.bytes(&digits, start, self.shortest), packings))
        })
    }
}

/// A way to write bytes as digits.
struct Packing {
    /// The value of each byte that is a digit; [`NONE`] for others, [`FOLD`] for line breaks, which are skipped.
    values: [u8; 256],
    /// Bits of a digit.
    bits: u32,
    /// Digits that make whole bytes.
    group: usize,
}

const NONE: u8 = 0xff;
const FOLD: u8 = 0xfe;
/// Between two runs of digits.
const GAP: u8 = 0xfd;

static BASE64: Packing = Packing { values: base64(), bits: 6, group: 4 };
static HEX: Packing = Packing { values: hex(), bits: 4, group: 2 };

impl Packing {
    /// The digits of all runs in which so many bytes have room. Behind each run stands a [`GAP`].
    fn digits(&self, text: &[u8], bytes: usize) -> Vec<u8> {
        let mut digits = Vec::new();
        for run in runs(text, bytes * 8 / self.bits as usize, |it| self.values[it as usize] != NONE) {
            digits.extend(run.iter().map(|it| self.values[*it as usize]).filter(|it| *it != FOLD));
            digits.push(GAP);
        }
        digits
    }

    /// The bytes that digits stand for, without the first digits of each run, as far as so many of them in a row are
    /// printable: no token is in the others.
    fn bytes(&self, digits: &[u8], start: usize, shortest: usize) -> Vec<u8> {
        let (mut bytes, mut decoded) = (Vec::new(), Vec::new());
        for run in digits.split(|it| *it == GAP) {
            let (mut kept, mut count) = (0_u32, 0);
            decoded.clear();
            for digit in run.iter().skip(start) {
                kept = (kept << self.bits) | u32::from(*digit);
                count += self.bits;
                if count >= 8 {
                    count -= 8;
                    decoded.push((kept >> count) as u8);
                }
            }
            // In UTF-16 every other byte is nothing.
            for printable in runs(&decoded, shortest, |it| matches!(it, b' '..=b'~' | 0 | b'\r' | b'\n' | b'\t')) {
                bytes.extend_from_slice(printable);
                bytes.push(b' ');
            }
        }
        bytes
    }
}

/// The longest runs of bytes that belong together, of at least this length.
fn runs(text: &[u8], shortest: usize, belongs: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    let (shortest, mut at) = (shortest.max(1), 0);
    std::iter::from_fn(move || {
        // A run that is long enough has one of its bytes here, wherever it begins: most others are never looked at.
        while let Some(probe) = text.get(at + shortest - 1) {
            let seen = at + shortest - 1;
            if !belongs(*probe) {
                at = seen + 1;
                continue;
            }
            let begin = text[at..seen].iter().rposition(|it| !belongs(*it)).map_or(at, |it| at + it + 1);
            let end = text[seen..].iter().position(|it| !belongs(*it)).map_or(text.len(), |it| seen + it);
            at = end + 1;
            if end - begin >= shortest {
                return Some(&text[begin..end]);
            }
        }
        None
    })
}

/// Both alphabets at once: they differ in two digits, and no text has both.
const fn base64() -> [u8; 256] {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = with_digits(digits);
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
}

const fn hex() -> [u8; 256] {
    let mut values = with_digits(b"0123456789abcdef");
    let mut digit = 10;
    while digit < 16 {
        values[(b'A' + digit - 10) as usize] = digit;
        digit += 1;
    }
    values
}

const fn with_digits(digits: &[u8]) -> [u8; 256] {
    let mut values = [NONE; 256];
    values[b'\r' as usize] = FOLD;
    values[b'\n' as usize] = FOLD;
    let mut index = 0;
    while index < digits.len() {
        values[digits[index] as usize] = index as u8;
        index += 1;
    }
    values
}

/// The text with its escapes undone once; `None` if there are none. Bytes of nothing are left out: between ASCII
/// characters they are UTF-16.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    if memchr(0, text).is_some() {
        return Some(text.iter().copied().filter(|it| *it != 0).collect());
    }
    let (mut undone, mut rest, mut is_same) = (Vec::new(), text, true);
    while let Some(index) = memchr3(b'%', b'\\', b'&', rest) {
        let (before, escape) = rest.split_at(index);
        undone.extend_from_slice(before);
        match read_escape(escape) {
            Some((byte, length)) => {
                undone.push(byte);
                rest = &escape[length..];
                is_same = false;
            }
            None => {
                undone.push(escape[0]);
                rest = &escape[1..];
            }
        }
    }
    undone.extend_from_slice(rest);
    (!is_same).then_some(undone)
}

/// The character for which the escape at the beginning of `text` stands, and its length. One beyond ASCII becomes 0xff: no
/// token holds it.
fn read_escape(text: &[u8]) -> Option<(u8, usize)> {
    let ascii = |value: u32| u8::try_from(value).ok().filter(u8::is_ascii).unwrap_or(0xff);
    let number = |from: usize, to: usize, radix: u32| {
        let digits = std::str::from_utf8(text.get(from..to)?).ok()?;
        digits.bytes().all(|it| it.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, radix).ok())?
    };
    let until = |end: u8, limit: usize| text.iter().take(limit).position(|it| *it == end);
    match (text[0], *text.get(1)?) {
        // JavaScript's escape().
        (b'%', b'u') => Some((ascii(number(2, 6, 16)?), 6)),
        (b'%', _) => Some((ascii(number(1, 3, 16)?), 3)),
        (b'\\', b'u') if text.get(2) == Some(&b'{') => {
            let end = until(b'}', 12)?;
            Some((ascii(number(3, end, 16)?), end + 1))
        }
        (b'\\', b'u') => Some((ascii(number(2, 6, 16)?), 6)),
        (b'\\', b'x') => Some((ascii(number(2, 4, 16)?), 4)),
        (b'\\', b'0'..=b'3') => Some((ascii(number(1, 4, 8)?), 4)),
        (b'\\', b'n') => Some((b'\n', 2)),
        (b'\\', b'r') => Some((b'\r', 2)),
        (b'\\', escaped @ (b'/' | b'\\' | b'"' | b'\'')) => Some((escaped, 2)),
        (b'&', b'#') if matches!(text.get(2)?, b'x' | b'X') => {
            let end = until(b';', 12)?;
            Some((ascii(number(3, end, 16)?), end + 1))
        }
        (b'&', b'#') => {
            let end = until(b';', 12)?;
            Some((ascii(number(2, end, 10)?), end + 1))
        }
        (b'&', _) => {
            let end = until(b';', 8)?;
            let (_, byte) = ENTITIES.iter().find(|(name, _)| name.as_bytes() == &text[1..end])?;
            Some((*byte, end + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
