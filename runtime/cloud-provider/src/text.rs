//! Text from somebody who is not trusted, made fit for a log line, an event or an error.

/// `text` on one line of at most `limit` bytes: what could end a line, move a cursor, hide itself or turn the direction
/// of writing is written as an escape (`\n`, `\u{202e}`), and text that is too long ends in `…`.
#[must_use]
pub fn printable(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for char in text.chars() {
        let start = line.len();
        if is_visible(char) {
            line.push(char);
        } else {
            line.extend(char.escape_default());
        }
        if line.len() > limit {
            line.truncate(start);
            while line.len() + '…'.len_utf8() > limit && line.pop().is_some() {}
            line.push('…');
            break;
        }
    }
    line
}

/// Whether [`printable`] leaves every character of `text` as it is.
#[must_use]
pub fn is_printable(text: &str) -> bool {
    text.chars().all(is_visible)
}

/// Whether a character is seen as itself: it is no control character, no line or paragraph separator, and nothing that
/// Unicode calls default-ignorable. Variation selectors are let through, because they follow many emoji.
#[must_use]
pub fn is_visible(char: char) -> bool {
    let is_hidden = matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    !char.is_control() && !is_hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(printable(text, 20), expected);
        assert_eq!(is_printable(text), text.chars().count() == printable(text, 1 << 10).chars().count());
    }

    #[test]
    fn plain_text_stays() {
        check("disk 31 é 雲", "disk 31 é 雲");
        check("❤\u{fe0f}", "❤\u{fe0f}");
    }

    #[test]
    fn characters_that_move_the_cursor_or_hide_are_spelled_out() {
        check("a\n{\"b\"}", "a\\n{\"b\"}");
        check("\u{1b}[2J", "\\u{1b}[2J");
        check("a\u{9b}2J", "a\\u{9b}2J");
        check("a\0b", "a\\u{0}b");
        check("a\u{202e}b", "a\\u{202e}b");
        check("a\u{2028}b", "a\\u{2028}b");
        check("a\u{200b}b", "a\\u{200b}b");
        check("a\u{ad}b", "a\\u{ad}b");
        check("a\u{e0041}b", "a\\u{e0041}b");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        check("12345678901234567890", "12345678901234567890");
        check("123456789012345678901", "12345678901234567…");
        check("1234567890123456789\n", "12345678901234567…");
        check("雲雲雲雲雲雲雲", "雲雲雲雲雲…");
    }
}
