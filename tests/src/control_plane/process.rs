//! A server that ends with the process that started it, even if that one is killed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};

/// How long a server may take to end before its guard has certainly killed it.
const END: Duration = Duration::from_secs(20);

/// How much of a log belongs into an error, in bytes.
const TAIL: usize = 3_000;

/// The program to run, and the facts that the guard has to know about it.
pub(crate) struct Server<'a> {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// The folder of the run, with logs and process ids.
    pub(crate) folder: &'a Path,
    /// Servers of the same run that must end before this one.
    pub(crate) after: &'a [&'a str],
    /// Whether the folder of the run goes when this one has ended.
    pub(crate) last: bool,
}

/// A running server. Dropping it lets it end; `stop` waits until it has.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    pid: Pid,
    log: PathBuf,
    guard: Child,
}

impl Process {
    pub(crate) fn start(server: Server<'_>) -> Result<Process> {
        let name = server
            .program
            .file_name()
            .and_then(|name| name.to_str())
            .context("a server's program has a name")?
            .to_owned();
        let mut guard = Command::new("sh")
            .args(["-c", include_str!("guard.sh"), "guard"])
            .arg(server.folder)
            .args([&name, &server.after.join(" ")])
            .arg(if server.last { "last" } else { "" })
            .arg(&server.program)
            .args(&server.arguments)
            .current_dir(server.folder)
            // For programs of Go, which all servers are: collecting garbage less often, an API server takes a fifth less CPU time to start.
            .env("GOGC", "400")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A Ctrl-C in the terminal is for us; the guard hears of it when we are gone.
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        let stdout = guard.stdout.take().context("standard output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let pid = line.trim().parse().ok().and_then(Pid::from_raw);
        Ok(Process {
            pid: pid.with_context(|| format!("{name} did not start: {line}"))?,
            log: server.folder.join(format!("{name}.log")),
            name,
            guard,
        })
    }

    pub(crate) fn is_running(&self) -> bool {
        rustix::process::test_kill_process(self.pid).is_ok()
    }

    /// Fails with the end of the server's log if it runs no more.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_running() {
            bail!("{} has ended.\n{}", self.name, self.log_tail());
        }
        Ok(())
    }

    pub(crate) fn log_tail(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
        format!("The end of {}:\n{}", self.log.display(), String::from_utf8_lossy(tail))
    }

    /// So many of the last lines of the server's log, with a heading.
    pub(crate) fn last_lines(&self, count: usize) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        format!("==> The last lines of {}'s log\n{}", self.name, last_lines(&String::from_utf8_lossy(&bytes), count))
    }

    /// Stops the server's clock, so to say: connections stay open, nothing is answered.
    pub(crate) fn pause(&self) -> Result<()> {
        rustix::process::kill_process(self.pid, Signal::STOP).context("cannot pause")
    }

    pub(crate) fn resume(&self) -> Result<()> {
        rustix::process::kill_process(self.pid, Signal::CONT).context("cannot resume")
    }

    /// Kills the server at once, as a machine without power would.
    pub(crate) fn kill(&self) -> Result<()> {
        rustix::process::kill_process(self.pid, Signal::KILL).context("cannot kill")
    }

    /// Lets the server end.
    pub(crate) fn release(&mut self) {
        drop(self.guard.stdin.take());
    }

    /// Lets the server end, and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.release();
        let deadline = Instant::now() + END;
        while self.guard.try_wait()?.is_none() {
            if Instant::now() > deadline {
                bail!("{} does not end.\n{}", self.name, self.log_tail());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// So many of the last lines of a text, or as many as it has.
fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Writes a file that only we may read.
pub(super) fn write_secret(path: &Path, content: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(content.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::process::Child;

    use super::*;
    use crate::wait;

    fn folder(name: &str) -> PathBuf {
        let folder = crate::control_plane::binaries::workspace()
            .join("target/control-plane/run")
            .join(format!("{name}-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn sleeper<'a>(folder: &'a Path, after: &'a [&'a str], last: bool) -> Server<'a> {
        Server { program: "sleep".into(), arguments: vec!["1000".into()], folder, after, last }
    }

    #[test]
    fn the_last_lines_of_a_log_are_all_of_a_short_one() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\nb", 60), "a\nb");
        assert_eq!(last_lines("", 60), "");
    }

    #[tokio::test]
    async fn a_servers_last_lines_have_its_name_before_them() {
        let folder = folder("said");
        let mut server = sleeper(&folder, &[], true);
        (server.program, server.arguments) = ("sh".into(), vec!["-c".into(), "seq 1 90; sleep 1000".into()]);
        let process = Process::start(server).unwrap();
        let said = wait::until("the server has said all", async || {
            Some(process.last_lines(3)).filter(|it| it.ends_with("\n90"))
        })
        .await;
        assert_eq!(said, "==> The last lines of sh's log\n88\n89\n90");
        process.stop().await.unwrap();
    }

    #[tokio::test]
    async fn a_dropped_server_ends_and_its_folder_goes() {
        let folder = folder("dropped");
        let process = Process::start(sleeper(&folder, &[], true)).unwrap();
        let pid = process.pid;
        assert!(process.is_running());
        drop(process);
        wait::until("the server ends", async || {
            (rustix::process::test_kill_process(pid).is_err() && !folder.exists()).then_some(())
        })
        .await;
    }

    #[tokio::test]
    async fn a_paused_server_ends_too() {
        let folder = folder("paused");
        let process = Process::start(sleeper(&folder, &[], true)).unwrap();
        process.pause().unwrap();
        process.stop().await.unwrap();
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn a_server_waits_for_those_that_must_end_before_it() {
        let folder = folder("order");
        fs::write(folder.join("first.pid"), "").unwrap();
        let process = Process::start(sleeper(&folder, &["first"], true)).unwrap();
        let pid = process.pid;
        drop(process);
        // Were the order not kept, it would end within this time: the others here take milliseconds.
        let early = wait::within(Duration::from_millis(500), async || rustix::process::test_kill_process(pid).err());
        assert!(early.await.is_none(), "it did not wait");
        fs::remove_file(folder.join("first.pid")).unwrap();
        wait::until("the server ends", async || rustix::process::test_kill_process(pid).err()).await;
    }

    #[tokio::test]
    async fn nothing_survives_a_killed_owner() {
        let folder = folder("killed");
        // Stands for the test process: it holds the other end of the guard's standard input.
        let mut owner = Command::new("sleep").arg("1000").stdout(Stdio::piped()).spawn().unwrap();
        let mut guard: Child = Command::new("sh")
            .args(["-c", include_str!("guard.sh"), "guard"])
            .arg(&folder)
            .args(["sleep", "", "last", "sleep", "1000"])
            .stdin(owner.stdout.take().unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(guard.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        assert!(rustix::process::test_kill_process(pid).is_ok());

        // SIGKILL: nothing of the owner's code runs any more.
        owner.kill().unwrap();
        owner.wait().unwrap();
        wait::until("the guard ends", async || guard.try_wait().unwrap()).await;
        assert!(rustix::process::test_kill_process(pid).is_err());
        assert!(!folder.exists());
    }
}
