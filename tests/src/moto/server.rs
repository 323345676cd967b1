//! The processes of moto's servers.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::python::{environment, python};

/// The one that has moto imported, and from which each server is forked: of the second that a start takes, importing takes all.
/// It ends with this process, and its servers with it.
static IMPORTED: Mutex<Option<Imported>> = Mutex::new(None);

struct Imported {
    _python: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Imported {
    fn start() -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("moto/server.py");
        let mut python = Command::new(python())
            .arg(program)
            .envs(environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let orders = python.stdin.take().expect("standard input is piped");
        let answers = BufReader::new(python.stdout.take().expect("standard output is piped"));
        Self { _python: python, orders, answers }
    }

    /// Gives an order, and returns the id of the server's process: none if `tests/moto/server.py` has ended.
    fn order(&mut self, words: &[&str]) -> Option<u32> {
        writeln!(self.orders, "{}", words.join("\t")).ok()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).ok()?;
        answer.trim().parse().ok()
    }
}

/// A running server. Dropping it ends it, and waits until it has ended.
pub(super) struct Server(u32);

impl Server {
    /// Starts a server. What it writes goes into the file `log`.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started.
    pub(super) fn start(host: &str, port: &str, log: &Path) -> Self {
        let mut imported = IMPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        let imported = imported.get_or_insert_with(Imported::start);
        let started = imported.order(&["start", host, port, &log.display().to_string()]);
        Self(started.expect("tests/moto/server.py has ended, see above"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut imported = IMPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(imported) = &mut *imported {
            // Without it the server has ended. A panic here would hide that of the test, and end the process.
            let _ = imported.order(&["end", &self.0.to_string()]);
        }
    }
}
