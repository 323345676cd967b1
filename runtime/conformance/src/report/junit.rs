//! The report in JUnit's XML: one test case for each promise.

use std::fmt::Write as _;

use super::{ConformanceReport, PromiseOutcome, Tried};

impl ConformanceReport {
    /// The report in the form that JUnit has, which every CI shows.
    #[must_use]
    pub fn junit(&self) -> String {
        let failures = self.count(|it| matches!(it, PromiseOutcome::Broken(_)));
        let skipped = self.count(|it| matches!(it, PromiseOutcome::Untried(_) | PromiseOutcome::Excepted(_)));
        let suite = escaped(&format!("{} {}", self.provider, self.version));
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "<testsuite name=\"{suite}\" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{:.3}\">",
            self.tried.len(),
            self.seconds
        );
        for Tried { promise, outcome } in &self.tried {
            let class = escaped(promise.page.split('#').next().unwrap_or(promise.page));
            let _ = write!(text, "  <testcase classname=\"{class}\" name=\"{}\"", promise.name);
            match outcome {
                PromiseOutcome::Kept => text.push_str("/>\n"),
                PromiseOutcome::Untried(why) | PromiseOutcome::Excepted(why) => {
                    let _ = writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(why));
                }
                PromiseOutcome::Broken(findings) => {
                    let _ = writeln!(text, "><failure message=\"{}\">", escaped(promise.sentence));
                    for finding in findings {
                        let _ = writeln!(text, "{}: {}", escaped(&finding.story), escaped(&finding.sentence));
                    }
                    text.push_str("</failure></testcase>\n");
                }
            }
        }
        text.push_str("</testsuite>\n");
        text
    }
}

/// Text as it may stand in XML: what it cannot hold at all is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            other if other.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}
