//! The log: one stream, standard error, as lines for people or as JSON.

mod lines;

use std::io::{IsTerminal, stderr};
use std::panic;

use tracing::error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, registry};

use self::lines::{Lines, Syntax};
use crate::flags::{Log, LogFormat};

/// Begins to write the log. A process does this once; later calls change nothing.
pub fn start(settings: Log) {
    let is_terminal = stderr().is_terminal();
    let lines = |syntax| move || Lines::new(stderr(), syntax);
    let layer = match settings.format {
        LogFormat::Text => {
            let syntax = if is_terminal { Syntax::Terminal } else { Syntax::Text };
            fmt::layer().with_writer(lines(syntax)).with_ansi(is_terminal).boxed()
        }
        LogFormat::Json => fmt::layer().with_writer(lines(Syntax::Json)).json().flatten_event(true).boxed(),
    };
    begin(layer.with_filter(filter(settings.verbosity)));
}

/// Writes warnings alone, for people who wait for something else. A process does this once; later calls change nothing.
pub fn start_warnings() {
    let lines = || Lines::new(stderr(), Syntax::Text);
    let layer = fmt::layer().with_writer(lines).with_ansi(false).without_time().with_target(false);
    begin(layer.with_filter(Targets::new().with_default(LevelFilter::WARN)));
}

fn begin(layer: impl Layer<Registry> + Send + Sync) {
    // An error means that a log is being written already.
    if registry().with(layer).try_init().is_ok() {
        panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            // What was to be cut or read may be somebody else's text, and is in the message.
            error!(place, "panic: {}", panic.payload_as_str().unwrap_or("of an unknown kind"));
        }));
    }
}

/// The lines that are written at each `-v`.
///
/// Other crates are shown only when they warn, whatever the verbosity: some print request headers, and with them
/// tokens, when they debug. What kube's client would say of failed requests is said by whoever sent them.
fn filter(verbosity: i32) -> Targets {
    let ours = match verbosity {
        ..=1 => LevelFilter::INFO,
        2..=3 => LevelFilter::DEBUG,
        4.. => LevelFilter::TRACE,
    };
    Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("kube_client", LevelFilter::OFF)
        .with_targets(["aerostat", "audit", "controllers", "egress", "provider", "sandbox"].map(|it| (it, ours)))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    fn check(verbosity: i32, target: &str, finest: Option<Level>) {
        let filter = filter(verbosity);
        let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
        let written: Vec<_> = levels.into_iter().filter(|it| filter.would_enable(target, it)).collect();
        assert_eq!(written.last().copied(), finest, "{target} at -v={verbosity}");
    }

    #[test]
    fn verbosity_opens_our_own_log() {
        check(0, "egress::egress", Some(Level::INFO));
        check(0, "audit", Some(Level::INFO));
        check(2, "controllers::node", Some(Level::DEBUG));
        check(4, "aerostat::leader", Some(Level::TRACE));
    }

    #[test]
    fn other_crates_never_say_more_than_warnings() {
        for verbosity in [0, 10] {
            check(verbosity, "h2::codec", Some(Level::WARN));
            check(verbosity, "hyper::proto", Some(Level::WARN));
            check(verbosity, "kube_client::client::builder", None);
        }
    }
}
