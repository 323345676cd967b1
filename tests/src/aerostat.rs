//! The built binary as a child process, and its log as values.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::wait;

/// The user that aerostat is for the API server.
pub const USER: &str = "system:serviceaccount:kube-system:cloud-controller-manager";

/// Longer than it takes to finish what is in flight.
const END: Duration = Duration::from_secs(20);

/// A running `aerostat`. Dropping it kills it.
pub struct Aerostat {
    /// Its log: one object for each line, and a line that is no JSON as `{"message": line}`. Closed when it has ended.
    pub log: mpsc::UnboundedReceiver<Map<String, Value>>,
    child: Child,
}

/// How much of the log is shown where a test fails.
const LINES: usize = 80;

/// Where `cargo build -p aerostat` puts the binary of the profile that this program was built with.
///
/// # Errors
///
/// Fails if it is not there, and says how to build it.
pub fn binary() -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it lies")?;
    // A program is beside it, a test in the folder `deps` next to it.
    let found = own.ancestors().skip(1).take(2).map(|it| it.join("aerostat")).find(|it| it.is_file());
    found.with_context(|| format!("no aerostat near {}\n  next: cargo build -p aerostat", own.display()))
}

impl Aerostat {
    /// Starts `aerostat run` with JSON logs.
    ///
    /// # Errors
    ///
    /// Fails if the binary is not there or cannot be started.
    pub fn start(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Aerostat> {
        let mut child = Command::new(binary()?)
            .arg("run")
            .arg("--logging-format=json")
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            // A Ctrl-C in the terminal is for us; we end the child.
            .process_group(0)
            .spawn()
            .context("cannot start aerostat")?;
        let stderr = child.stderr.take().context("standard error is piped")?;
        let (sender, log) = mpsc::unbounded_channel();
        // It ends with the child, whose end of the pipe is the only one.
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let plain = || Map::from_iter([("message".to_owned(), json!(line))]);
                if sender.send(serde_json::from_str(&line).unwrap_or_else(|_| plain())).is_err() {
                    break;
                }
            }
        });
        Ok(Aerostat { log, child })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of the log whose message contains `text`, and returns it.
    ///
    /// # Errors
    ///
    /// Fails with the last lines if the process ends first, or if the line does not come in time.
    pub async fn wait_for(&mut self, text: &str, time: Duration) -> Result<Map<String, Value>> {
        let mut seen = Vec::new();
        let search = async {
            while let Some(entry) = self.log.recv().await {
                if message(&entry).contains(text) {
                    return Some(entry);
                }
                seen.push(Value::Object(entry).to_string());
            }
            None
        };
        let found = tokio::time::timeout(time, search).await;
        let tail = seen[seen.len().saturating_sub(10)..].join("\n");
        match found {
            Ok(Some(entry)) => Ok(entry),
            Ok(None) => bail!("aerostat ended before it said {text:?}. Its last lines:\n{tail}"),
            Err(_) => bail!("aerostat did not say {text:?} within {time:?}. Its last lines:\n{tail}"),
        }
    }

    /// Waits until it has ended by itself. Returns how, and every line that it wrote since the log was last read.
    ///
    /// # Errors
    ///
    /// Fails with these lines if it does not end in time.
    pub async fn ended(&mut self, time: Duration) -> Result<(ExitStatus, Vec<Map<String, Value>>)> {
        let mut lines = Vec::new();
        // The log is closed by the end of the process.
        let read = async {
            while let Some(entry) = self.log.recv().await {
                lines.push(entry);
            }
        };
        let closed = tokio::time::timeout(time, read).await;
        let ended = wait::within(Duration::from_secs(1), async || self.child.try_wait().ok().flatten()).await;
        let tail = || lines.iter().map(message).collect::<Vec<_>>().join("\n");
        match (closed, ended) {
            (Ok(()), Some(status)) => Ok((status, lines)),
            _ => bail!("aerostat did not end within {time:?}. It said:\n{}", tail()),
        }
    }

    /// Kills it, as a power failure would. Returns every line that it wrote since the log was last read.
    pub async fn killed(mut self) -> Vec<Map<String, Value>> {
        // Errors mean that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut lines = Vec::new();
        while let Some(entry) = self.log.recv().await {
            lines.push(entry);
        }
        lines
    }

    /// Asks it to end, as Kubernetes does, and waits until it has.
    ///
    /// # Errors
    ///
    /// Fails if it does not end in time.
    pub async fn stop(mut self) -> Result<ExitStatus> {
        let pid = Pid::from_raw(self.child.id().cast_signed()).context("a process has an id")?;
        kill_process(pid, Signal::TERM).context("cannot send SIGTERM")?;
        let ended = wait::within(END, async || self.child.try_wait().ok().flatten()).await;
        ended.context("aerostat does not end")
    }
}

impl Drop for Aerostat {
    fn drop(&mut self) {
        // Errors mean that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            self.show_end_of_log();
        }
    }
}

impl Aerostat {
    /// Shows the last lines that nobody has read.
    fn show_end_of_log(&mut self) {
        let mut lines = Vec::new();
        while let Ok(line) = self.log.try_recv() {
            lines.push(line);
        }
        for line in lines.into_iter().rev().take(LINES).rev() {
            eprintln!("  {}", Value::Object(line));
        }
    }
}

/// The message of a line of the log.
#[must_use]
pub fn message(entry: &Map<String, Value>) -> &str {
    entry.get("message").and_then(Value::as_str).unwrap_or_default()
}
