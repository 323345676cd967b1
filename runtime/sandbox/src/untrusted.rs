//! Text from a provider, made fit for a log line or an event.

/// `text` on one line of at most `limit` bytes: what could move a cursor, end a line or turn the direction of writing
/// is spelled out, and what is too long ends in `…`.
pub(crate) fn printable(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for char in text.chars() {
        let start = line.len();
        if is_harmless(char) {
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

fn is_harmless(char: char) -> bool {
    let formats = matches!(char,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !char.is_control() && !formats
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(printable(text, 20), expected);
    }

    #[test]
    fn plain_text_stays() {
        check("disk 31 é 雲", "disk 31 é 雲");
    }

    #[test]
    fn what_moves_the_cursor_is_spelled_out() {
        check("a\n{\"b\"}", "a\\n{\"b\"}");
        check("\u{1b}[2J", "\\u{1b}[2J");
        check("a\0b", "a\\u{0}b");
        check("a\u{202e}b", "a\\u{202e}b");
        check("a\u{2028}b", "a\\u{2028}b");
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        check("12345678901234567890", "12345678901234567890");
        check("123456789012345678901", "12345678901234567…");
        check("1234567890123456789\n", "12345678901234567…");
        check("雲雲雲雲雲雲雲", "雲雲雲雲雲…");
    }
}
