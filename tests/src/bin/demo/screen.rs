//! The demo's screen: steps, and lines with the time since the step began, as wide as the terminal.

use std::io::{IsTerminal, Write, stdout};
use std::time::Instant;

use anyhow::Result;
use rustix::termios::tcgetwinsize;

/// Where notes begin, and where lines go on if there is little room.
const INDENT: usize = 6;
/// The width of the time, with what stands behind it.
const TIME: usize = 13;
/// From this width on, lines go on beside the first.
const ROOMY: usize = 80;

/// A colour of a terminal.
#[derive(Clone, Copy)]
pub(crate) enum Colour {
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
}

/// The terminal, or the file that standard output is.
pub(crate) struct Screen {
    colours: bool,
    /// The longest name of an object.
    names: usize,
    steps: usize,
    step: usize,
    since: Instant,
}

impl Screen {
    /// `names` is the length of the longest name of an object, up to its first dot.
    pub(crate) fn new(steps: usize, names: usize) -> Screen {
        Screen { names, colours: stdout().is_terminal(), steps, step: 0, since: Instant::now() }
    }

    /// Begins the next step.
    pub(crate) fn step(&mut self, title: &str) -> Result<()> {
        self.step += 1;
        self.since = Instant::now();
        self.heading(&format!("[{}/{}] {title}", self.step, self.steps))
    }

    /// Prints a heading that is no step.
    pub(crate) fn heading(&self, title: &str) -> Result<()> {
        self.print("\n", 0, INDENT, Some(Colour::Bold), title)
    }

    /// Prints a note.
    pub(crate) fn note(&self, text: &str) -> Result<()> {
        self.print(&" ".repeat(INDENT), INDENT, INDENT, None, text)
    }

    /// Prints a line that is not wrapped: of a table, or to copy.
    pub(crate) fn row(&self, text: &str) -> Result<()> {
        Ok(writeln!(stdout().lock(), "{:INDENT$}{text}", "")?)
    }

    /// Prints what has just happened to an object.
    pub(crate) fn happened(&self, colour: Colour, who: &str, what: &str) -> Result<()> {
        let time = self.paint(Colour::Dim, &format!("{:>9.3} s", self.elapsed()));
        let (who, names) = (who.split('.').next().unwrap_or_default(), self.names);
        let who = self.paint(colour, &format!("{who:<names$}"));
        self.print(&format!("{time}  {who} "), TIME + names + 1, self.column(), None, what)
    }

    /// More about what has just happened.
    pub(crate) fn more(&self, colour: Colour, text: &str) -> Result<()> {
        let column = self.column();
        self.print(&" ".repeat(column), column, column, Some(colour), text)
    }

    /// The column of what happened, after its time and the object.
    fn column(&self) -> usize {
        if width() < ROOMY { INDENT } else { TIME + self.names + 1 }
    }

    /// Seconds since the step began.
    pub(crate) fn elapsed(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }

    /// A text in a colour, if this is a terminal.
    pub(crate) fn paint(&self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Bold => "1",
            Colour::Dim => "2",
            Colour::Green => "32",
            Colour::Red => "31",
            Colour::Yellow => "33",
        };
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// `prefix`, which ends in the column `at`, and `text`, which goes on in the column `indent`.
    fn print(&self, prefix: &str, at: usize, indent: usize, colour: Option<Colour>, text: &str) -> Result<()> {
        let mut out = stdout().lock();
        write!(out, "{prefix}")?;
        for (index, line) in wrap(text, width(), at, indent).into_iter().enumerate() {
            let space = if index == 0 { 0 } else { indent };
            let line = colour.map_or(line.to_owned(), |it| self.paint(it, line));
            writeln!(out, "{:space$}{line}", "")?;
        }
        Ok(out.flush()?)
    }
}

/// The terminal's width. A file is as wide as its lines.
fn width() -> usize {
    let columns = tcgetwinsize(stdout()).map_or(0, |it| usize::from(it.ws_col));
    if columns == 0 { usize::MAX } else { columns }
}

/// `text` as lines of a terminal, the first of which begins in the column `at`, and further ones in `indent`. A word
/// that is longer than a line stays whole.
fn wrap(text: &str, width: usize, at: usize, indent: usize) -> Vec<&str> {
    let (mut lines, mut begin, mut column) = (Vec::new(), 0, at);
    let mut place = 0;
    for word in text.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if column + length > width && place > begin {
            lines.push(text[begin..place].trim());
            (begin, column) = (place, indent);
        }
        place += word.len();
        column += word.chars().count();
    }
    lines.push(if begin == 0 { text } else { text[begin..].trim() });
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn a_line_ends_where_the_terminal_ends() {
        assert_eq!(wrap("a cloud, a token", 80, 10, 2), ["a cloud, a token"]);
        assert_eq!(wrap("a cloud, a token", 20, 10, 10), ["a cloud, a", "token"]);
        assert_eq!(wrap("a cloud, a token", 20, 14, 2), ["a", "cloud, a token"]);
        assert_eq!(wrap("type=a  zone=b", 12, 2, 2), ["type=a", "zone=b"]);
    }

    #[test]
    fn a_long_word_stays_whole() {
        assert_eq!(wrap("https://api.digitalocean.com", 10, 4, 4), ["https://api.digitalocean.com"]);
        assert_eq!(wrap("at https://api.digitalocean.com", 10, 4, 4), ["at", "https://api.digitalocean.com"]);
    }
}
