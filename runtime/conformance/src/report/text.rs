//! The report for people, and for programs as JSON.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::{Value, json};

use super::{ConformanceReport, Cost, PartTime, PromiseOutcome, Tried};

/// How many findings of one promise are shown: the others are counted.
const SHOWN: usize = 5;

/// One line for each promise, with what broke it below, and the costs.
impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, version, seconds, timings, stories, unplayed, costs, tried } = self;
        writeln!(f, "provider {provider} {version}")?;
        let widest = tried.iter().map(|it| it.promise.name.len()).max().unwrap_or_default();
        for Tried { promise, outcome } in tried {
            let word = outcome.as_str();
            match outcome {
                PromiseOutcome::Kept => writeln!(f, "  {:widest$}  {word}", promise.name)?,
                PromiseOutcome::Untried(why) | PromiseOutcome::Excepted(why) => {
                    writeln!(f, "  {:widest$}  {word}: {why}", promise.name)?;
                }
                PromiseOutcome::Broken(findings) => {
                    writeln!(f, "  {:widest$}  {word}", promise.name)?;
                    writeln!(f, "      {} ({})", promise.sentence, promise.page)?;
                    for finding in findings.iter().take(SHOWN) {
                        writeln!(f, "      - {}: {}", finding.story, finding.sentence)?;
                    }
                    if findings.len() > SHOWN {
                        writeln!(f, "      - and {} more", findings.len() - SHOWN)?;
                    }
                }
            }
        }
        for (part, why) in unplayed {
            writeln!(f, "not played: every story with \"{part}\": {why}")?;
        }
        writeln!(f, "requests, when nothing goes wrong")?;
        for cost in costs {
            let Cost { deed, calls, reads, writes, least_reads, least_writes } = cost;
            let done = format!("{reads} reads, {writes} writes in {calls} calls");
            writeln!(f, "  {deed:30}  {done:35}  at least {least_reads} and {least_writes}")?;
        }
        for PartTime { part, stories, seconds } in timings {
            let stories = if *stories == 0 { String::new() } else { format!(" for {stories} stories") };
            writeln!(f, "  {part:30}  {seconds:.1} s{stories}")?;
        }
        let kept = self.count(|it| *it == PromiseOutcome::Kept);
        let broken = self.count(|it| matches!(it, PromiseOutcome::Broken(_)));
        let rest = tried.len() - kept - broken;
        writeln!(f, "{kept} kept, {broken} broken, {rest} not tried or excepted; {stories} stories in {seconds:.1} s")
    }
}

impl Serialize for ConformanceReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let promises: Vec<Value> = self.tried.iter().map(promise).collect();
        let mut report = serializer.serialize_struct("ConformanceReport", 8)?;
        report.serialize_field("provider", &self.provider)?;
        report.serialize_field("version", &self.version)?;
        report.serialize_field("seconds", &self.seconds)?;
        report.serialize_field("timings", &self.timings)?;
        report.serialize_field("stories", &self.stories)?;
        report.serialize_field("unplayed", &self.unplayed)?;
        report.serialize_field("costs", &self.costs)?;
        report.serialize_field("promises", &promises)?;
        report.end()
    }
}

fn promise(Tried { promise, outcome }: &Tried) -> Value {
    let mut object = json!({
        "name": promise.name,
        "sentence": promise.sentence,
        "page": promise.page,
        "outcome": outcome.as_str().to_ascii_lowercase(),
    });
    match outcome {
        PromiseOutcome::Kept => {}
        PromiseOutcome::Broken(findings) => object["findings"] = json!(findings),
        PromiseOutcome::Untried(why) | PromiseOutcome::Excepted(why) => object["reason"] = json!(why),
    }
    object
}
