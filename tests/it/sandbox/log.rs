//! The log is the host's.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sandbox::CallLimits;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::setup::Guest;

/// A line of the log.
pub(crate) struct Line {
    level: Level,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

/// Writes down what is logged on this thread.
#[derive(Clone, Default)]
pub(crate) struct Paper {
    lines: Arc<Mutex<Vec<Line>>>,
    /// Whether also what the host itself says.
    everything: bool,
}

impl Paper {
    /// A log of the lines of providers.
    fn unroll() -> (Self, DefaultGuard) {
        Self::default().held()
    }

    /// A log of all lines.
    pub(crate) fn of_everything() -> (Self, DefaultGuard) {
        Self { everything: true, ..Self::default() }.held()
    }

    fn held(self) -> (Self, DefaultGuard) {
        let paper = self;
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(paper.clone()));
        (paper, guard)
    }

    pub(crate) fn lines(&self) -> std::sync::MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap()
    }
}

impl<S: Subscriber> Layer<S> for Paper {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if self.everything || event.metadata().target() == "provider" {
            let mut line = Line { level: *event.metadata().level(), fields: BTreeMap::new() };
            event.record(&mut line);
            self.lines().push(line);
        }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.into());
    }
}

#[tokio::test]
async fn adv_39_a_gigabyte_of_log_is_256_lines() {
    let (paper, _guard) = Paper::unroll();
    let limits = CallLimits { cpu: Duration::from_secs(60), ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    assert_eq!(lab.report("log-flood").await, "logged 1 GiB");
    let lines = paper.lines();
    let (warnings, written): (Vec<_>, Vec<_>) = lines.iter().partition(|it| it.level == Level::WARN);
    assert_eq!(written.len(), 256);
    assert!(written.iter().all(|it| it.fields["message"].len() <= 2048));
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].fields["dropped"], "768");
    assert_eq!(lab.counter("aerostat_provider_log_dropped_total", &[("function", "get")]), 768);
}

#[tokio::test]
async fn adv_39_printed_lines_are_capped_too() {
    let (paper, _guard) = Paper::unroll();
    let limits = CallLimits { cpu: Duration::from_secs(60), ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    assert_eq!(lab.report("print-flood").await, "printed");
    let lines = paper.lines();
    let printed: Vec<_> = lines.iter().filter(|it| it.level == Level::DEBUG).collect();
    assert_eq!(printed.len(), 256);
    assert!(printed.iter().all(|it| it.fields["message"].len() <= 2048 && it.fields["message"].ends_with('…')));
}

#[tokio::test]
async fn adv_39_a_line_stays_a_line() {
    let (paper, _guard) = Paper::unroll();
    let lab = Guest::hostile().load().await;
    assert_eq!(lab.report("log-escapes").await, "logged");
    let lines = paper.lines();
    let evil = r#"first\n{"level":"ERROR","fields":{}}\r\u{1b}[2J\u{202e}\u{2028}\u{0}end"#;
    let messages: Vec<_> = lines.iter().map(|it| (it.level, it.fields["message"].as_str())).collect();
    // What is printed has line ends of its own, and each such line is one of the log.
    let rest = r#"{"level":"ERROR","fields":{}}\r\u{1b}[2J\u{202e}\u{2028}\u{0}end"#;
    assert_eq!(
        messages,
        [
            (Level::WARN, evil),
            (Level::INFO, "plain"),
            (Level::DEBUG, "stderr first"),
            (Level::DEBUG, rest),
            (Level::DEBUG, "stdout first"),
            (Level::DEBUG, rest),
        ]
    );
    assert_eq!(lines[1].fields["fields"], "key=\"value\"");
    assert_eq!(lines[1].fields["provider"], "hostile");
    assert_eq!(lines[1].fields["function"], "get");
    assert!(lines.iter().flat_map(|it| it.fields.values()).all(|it| !it.contains(char::is_control)));
}

#[tokio::test]
async fn adv_40_a_panic_message_is_in_the_log_escaped_and_cut() {
    let (paper, _guard) = Paper::unroll();
    let lab = Guest::hostile().load().await;
    lab.end("panic:dop_v1_secret").await;
    let lines = paper.lines();
    assert!(lines.iter().any(|it| it.fields["message"].contains("dop_v1_secret")));
    let fake = lines
        .iter()
        .find(|it| it.fields["message"].starts_with("{\"level\":\"ERROR\",\"fake\":1}\\u{1b}[2J\\u{202e}xxx"));
    assert!(fake.unwrap().fields["message"].len() <= 2048);
    assert!(lines.iter().all(|it| it.level == Level::DEBUG));
}
