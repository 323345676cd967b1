//! A program in a process group of its own, with all that it starts.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Asks the program to end when standard input ends, which it does whatever becomes of the tests, and ends its group after ten seconds,
/// and the one that the program may have made for itself.
/// The program may take less of the processors than others: it shares them with the tests.
const GUARD: &str = r#"
nice -n 5 "$@" </dev/null & child=$!
cat >/dev/null
kill "$child" 2>/dev/null
tries=0
while kill -0 "$child" 2>/dev/null && [ "$tries" -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -KILL "-$child" 2>/dev/null
kill -KILL "-$$"
"#;

/// A running program. Dropping it ends it and what it has started, by the id of its group.
#[derive(Debug)]
pub(super) struct Group(Child);

impl Group {
    /// Starts a program with these variables. It writes into the file `log`.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started.
    pub(super) fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &OsStr)],
        folder: &Path,
        log: &Path,
    ) -> Self {
        let output = || {
            let file = File::options().create(true).append(true).open(log);
            file.unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display()))
        };
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(output())
            .stderr(output())
            .process_group(0)
            .spawn();
        Self(guard.expect("sh starts"))
    }

    /// Lets all its processes stand still, but for the guard.
    pub(super) fn pause(&self) {
        self.send(Signal::STOP);
        let guard = Pid::from_raw(self.0.id().cast_signed()).expect("a process has an id");
        kill_process(guard, Signal::CONT).expect("the guard waits for its program");
    }

    /// Lets them go on.
    pub(super) fn resume(&self) {
        self.send(Signal::CONT);
    }

    fn send(&self, signal: Signal) {
        let group = Pid::from_raw(self.0.id().cast_signed()).expect("a process has an id");
        kill_process_group(group, signal).expect("the guard waits for its program");
    }
}

impl Group {
    /// Asks it to end, and does not wait.
    pub(super) fn end(&mut self) {
        // It may stand still. An error means that it has ended.
        let group = Pid::from_raw(self.0.id().cast_signed());
        let _ = group.map(|it| kill_process_group(it, Signal::CONT));
        drop(self.0.stdin.take());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
        let _ = self.0.wait();
    }
}
