//! What the demo shows: steps, and lines with the time since the step began.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use anyhow::Result;

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
    steps: usize,
    step: usize,
    since: Instant,
}

impl Screen {
    pub(crate) fn new(steps: usize) -> Screen {
        Screen { colours: std::io::stdout().is_terminal(), steps, step: 0, since: Instant::now() }
    }

    /// Begins the next step.
    pub(crate) fn step(&mut self, title: &str) -> Result<()> {
        self.step += 1;
        self.since = Instant::now();
        let number = self.paint(Colour::Bold, &format!("[{}/{}]", self.step, self.steps));
        let title = self.paint(Colour::Bold, title);
        self.line(&format!("\n{number} {title}"))
    }

    /// Something that is so.
    pub(crate) fn note(&self, text: &str) -> Result<()> {
        self.line(&format!("      {text}"))
    }

    /// Something that has just happened: to whom, and what.
    pub(crate) fn happened(&self, colour: Colour, who: &str, what: &str) -> Result<()> {
        let time = self.paint(Colour::Dim, &format!("{:>8.3} s", self.since.elapsed().as_secs_f64()));
        let who = self.paint(colour, &format!("{who:<9}"));
        self.line(&format!(" {time}  {who} {what}"))
    }

    /// More about what has just happened.
    pub(crate) fn more(&self, text: &str) -> Result<()> {
        self.line(&format!("{:23}{text}", ""))
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

    /// A line as it is.
    pub(crate) fn line(&self, text: &str) -> Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}")?;
        Ok(out.flush()?)
    }
}
