//! The last lines that a guest printed on its standard error: where it crashed, they say why.

use std::collections::VecDeque;

use crate::untrusted::printable;

/// So many lines are kept: a panic of Rust says where it was, and in up to three lines why.
const LINES: usize = 4;
/// How much of them is told, in bytes: an event has room for it and for what follows from the crash.
const BYTES: usize = 400;
/// Rust's advice after a panic, for people who can set variables: nobody can for a guest.
const ADVICE: &str = "note: run with `RUST_BACKTRACE=";

/// The last lines that a guest printed on its standard error.
#[derive(Debug, Default)]
pub(super) struct LastLines(VecDeque<String>);

impl LastLines {
    /// Takes one more line.
    pub(super) fn add(&mut self, line: &str) {
        if line.trim().is_empty() || line.starts_with(ADVICE) {
            return;
        }
        if self.0.len() == LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.trim_end().to_owned());
    }

    /// The lines as one printable line of at most 400 bytes; `None` if nothing was printed, or if `is_secret` says that
    /// they must not be told. It is asked about all of them before anything is cut.
    pub(super) fn told(&self, is_secret: impl Fn(&str) -> bool) -> Option<String> {
        let lines: Vec<_> = self.0.iter().map(String::as_str).collect();
        let text = lines.join(" ");
        let tells_secret = is_secret(&text) || is_secret(&lines.concat());
        (!text.is_empty() && !tells_secret).then(|| printable(&text, BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> LastLines {
        let mut last = LastLines::default();
        lines.iter().for_each(|it| last.add(it));
        last
    }

    #[test]
    fn a_panic_is_told_in_one_line() {
        let panic =
            ["", "thread 'main' panicked at src/lib.rs:5:9:", "no region", "note: run with `RUST_BACKTRACE=1` …"];
        let expected = "thread 'main' panicked at src/lib.rs:5:9: no region";
        assert_eq!(lines(&panic).told(|_| false).as_deref(), Some(expected));
        assert_eq!(lines(&["", " "]).told(|_| false), None);
        assert_eq!(lines(&["1", "2", "3", "4", "5"]).told(|_| false).as_deref(), Some("2 3 4 5"));
    }

    #[test]
    fn the_last_lines_are_short_and_printable() {
        let told = lines(&["\u{1b}[2J\u{202e}", &"x".repeat(2048)]).told(|_| false).unwrap();
        assert!(told.starts_with("\\u{1b}[2J\\u{202e} xxx") && told.len() <= BYTES, "{told}");
    }

    #[test]
    fn a_secret_is_told_neither_whole_nor_over_two_lines_nor_cut() {
        let is_secret = |it: &str| it.contains("hunter2");
        assert_eq!(lines(&["hunter2"]).told(is_secret), None);
        assert_eq!(lines(&["hun", "ter2"]).told(is_secret), None);
        assert_eq!(lines(&[&format!("{}hunter2", "x".repeat(BYTES - 5))]).told(is_secret), None);
    }
}
