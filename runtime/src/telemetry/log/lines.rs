//! One record of the log is one line, whatever is in it.
//!
//! Text that is not trusted is made printable where it comes in. This is the last line of defence behind that: for what
//! kubelets and authors of Services wrote into objects, for what libraries say, and for what was forgotten.

use std::borrow::Cow;
use std::io::{self, Write};

use cloud_provider::is_visible;

/// How a record is written, and so how a character in it is escaped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Syntax {
    /// `\n`, `\u{202e}`.
    Text,
    /// The same, but colours pass.
    Terminal,
    /// `\u202e`, which a reader of JSON takes for the character itself.
    Json,
}

/// Writes records to `inner`, each in one call and with its line end.
pub(super) struct Lines<W> {
    inner: W,
    syntax: Syntax,
}

impl<W> Lines<W> {
    pub(super) fn new(inner: W, syntax: Syntax) -> Self {
        Self { inner, syntax }
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.inner.write_all(line(&String::from_utf8_lossy(record), self.syntax).as_bytes())?;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The record with all but its last character escaped, if that ends the line.
fn line(record: &str, syntax: Syntax) -> Cow<'_, str> {
    let text = record.strip_suffix('\n').unwrap_or(record);
    if text.chars().all(is_visible) {
        return record.into();
    }
    let mut line = String::with_capacity(record.len() + 16);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let color = if syntax == Syntax::Terminal { color(rest) } else { 0 };
        let taken = color.max(char.len_utf8());
        match syntax {
            _ if color > 0 || is_visible(char) => line.push_str(&rest[..taken]),
            Syntax::Text | Syntax::Terminal => line.extend(char.escape_default()),
            Syntax::Json => {
                let units = char.encode_utf16(&mut [0; 2]).iter().map(|it| format!("\\u{it:04x}")).collect::<String>();
                line.push_str(&units);
            }
        }
        rest = &rest[taken..];
    }
    line.push_str(&record[text.len()..]);
    line.into()
}

/// How many bytes the escape sequence for a colour has at the start of `text`; 0 if there is none.
fn color(text: &str) -> usize {
    let Some(after) = text.strip_prefix("\u{1b}[") else { return 0 };
    let numbers = after.len() - after.trim_start_matches(|it: char| it.is_ascii_digit() || it == ';').len();
    if after[numbers..].starts_with('m') { text.len() - after.len() + numbers + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(syntax: Syntax, record: &str, expected: &str) {
        let mut written = Vec::new();
        Lines::new(&mut written, syntax).write_all(record.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn a_plain_record_stays() {
        for syntax in [Syntax::Text, Syntax::Terminal, Syntax::Json] {
            check(syntax, "INFO é 雲 a=\"b\"\n", "INFO é 雲 a=\"b\"\n");
        }
    }

    #[test]
    fn adv_109_a_record_with_line_ends_is_one_line() {
        check(Syntax::Text, "a\nINFO audit: b\r\0\u{2028}\n", "a\\nINFO audit: b\\r\\u{0}\\u{2028}\n");
        check(Syntax::Text, "\u{1b}[31mred\u{9b}2J\u{202e}\n", "\\u{1b}[31mred\\u{9b}2J\\u{202e}\n");
    }

    #[test]
    fn in_a_terminal_colours_pass_and_nothing_else() {
        check(Syntax::Terminal, "\u{1b}[2;31mx\u{1b}[0m\n", "\u{1b}[2;31mx\u{1b}[0m\n");
        check(Syntax::Terminal, "\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}\n", "\\u{1b}[2J\\u{1b}]0;t\\u{7}\\u{1b}\n");
    }

    #[test]
    fn an_escaped_text_in_json_reads_as_it_was() {
        let text = "a\u{202e}\u{7f}\u{85}\u{e0041}\u{200b}b";
        let record = serde_json::json!({ "message": text }).to_string();
        let line = line(&record, Syntax::Json);
        assert!(line.chars().all(is_visible), "{line}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap()["message"], text);
    }
}
