//! The compiler's process, from outside.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tracing::warn;
use wasmtime::Error;

use super::child::{COMMAND, UNPROTECTED};
use crate::compile_limits::CompileLimits;
use crate::untrusted::printable;

/// How long the compiler may take at least, however little CPU time it may use: the machine may be busy.
const LEAST_TIME: Duration = Duration::from_secs(120);

/// How much of what the compiler says about a failure is read, and how much is passed on, in bytes.
const SAID: u64 = 64 << 10;
const PASSED_ON: usize = 2 << 10;

/// Compiles in a process of its own, and returns the machine code.
pub(super) async fn run(program: &Path, memory: usize, limits: &CompileLimits, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut child = Command::new(program)
        .arg(COMMAND)
        .arg(memory.to_string())
        .args(limits.arguments())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // It is killed wherever this function ends before it does.
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| Error::msg(format!("{} cannot be started as the compiler: {error}", program.display())))?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let work = async {
        let write = async {
            // A compiler that stops reading says why on its standard error.
            if let Some(mut input) = input {
                let _ = input.write_all(bytes).await;
            }
            Ok(())
        };
        let ((), compiled, said) = tokio::try_join!(
            write,
            at_most(
                limits.output,
                output,
                "machine code",
                "; raise provider.limits.compile.output in --cloud-config if you trust this module"
            ),
            at_most(SAID, errors, "messages", ""),
        )?;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok::<_, Error>((child.wait().await?, compiled, said))
    };
    let time = LEAST_TIME.max(Duration::from_secs(limits.cpu.saturating_mul(2)));
    let Ok(ended) = tokio::time::timeout(time, work).await else {
        return Err(Error::msg(format!(
            "the compiler was stopped after {} s; give this machine more CPU time, or raise provider.limits.compile.cpu \
             in --cloud-config: it may run twice as long",
            time.as_secs()
        )));
    };
    let (status, compiled, said) = ended?;
    let (unprotected, words): (Vec<_>, Vec<_>) = said.lines().partition(|it| it.starts_with(UNPROTECTED));
    // One for Landlock, one for seccomp.
    for missing in unprotected.iter().take(2).filter_map(|it| it.strip_prefix(UNPROTECTED)) {
        warn!("the compiler of providers is less protected than it could be: {}", printable(missing, 512));
    }
    if status.success() { Ok(compiled) } else { Err(Error::msg(explain(status, &words.join("\n"), limits))) }
}

/// Reads until the end, or until it is too much.
async fn at_most(limit: u64, pipe: Option<impl AsyncRead + Unpin>, what: &str, next: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(limit.saturating_add(1)).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 <= limit {
        Ok(bytes)
    } else {
        Err(Error::msg(format!("the compiler wrote more than {limit} bytes of {what}{next}")))
    }
}

/// Why there is no machine code, from how the process ended and what it said last.
fn explain(status: ExitStatus, said: &str, limits: &CompileLimits) -> String {
    const TRUST: &str = "in --cloud-config if you trust this module";
    let out_of_memory = ["memory allocation of ", "out of memory", "Cannot allocate memory"];
    let overflow = said.contains("overflowed its stack");
    let said_so = out_of_memory.iter().any(|it| said.contains(it));
    match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::XCPU) => format!(
            "to compile it takes more than {} s of CPU time, which is provider.limits.compile.cpu; raise that {TRUST}",
            limits.cpu
        ),
        Some(Signal::KILL) => "the compiler was killed from outside, most likely because the container has no memory \
            left; raise the container's memory limit, which has to hold provider.limits.compile.memory and the rest of \
            aerostat"
            .to_owned(),
        _ if overflow => "to compile it takes more stack than the compiler has; its types or functions are nested too \
            deep: lower what the module nests"
            .to_owned(),
        _ if said_so => format!(
            "to compile it takes more than {} MiB of memory, which is provider.limits.compile.memory; raise that {TRUST}",
            limits.memory >> 20
        ),
        _ if said.trim().is_empty() => format!("the compiler ended with {status}"),
        _ => printable(said.trim(), PASSED_ON),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signals as `wait` tells them.
    fn check(status: i32, said: &str, expected: &[&str]) {
        let limits = CompileLimits { memory: 256 << 20, cpu: 7, ..CompileLimits::default() };
        let text = explain(ExitStatus::from_raw(status), said, &limits);
        for part in expected {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }

    #[test]
    fn each_way_to_end_has_its_cause_and_next_step() {
        check(Signal::XCPU.as_raw(), "", &["7 s of CPU time", "raise that", "provider.limits.compile.cpu"]);
        check(Signal::KILL.as_raw(), "", &["killed from outside", "container's memory limit"]);
        let aborted = Signal::ABORT.as_raw();
        check(aborted, "memory allocation of 65536 bytes failed", &["256 MiB", "provider.limits.compile.memory"]);
        check(aborted, "thread 'compiler' has overflowed its stack", &["more stack", "nested"]);
        check(Signal::SEGV.as_raw(), "", &["the compiler ended with signal: 11"]);
        check(1 << 8, "it is damaged", &["it is damaged"]);
        check(1 << 8, "", &["the compiler ended with exit status: 1"]);
    }

    #[test]
    fn the_words_of_the_compiler_stay_one_short_line() {
        let limits = CompileLimits::default();
        let text = explain(ExitStatus::from_raw(1 << 8), &"\u{1b}[2J\n".repeat(10_000), &limits);
        assert!(text.len() <= PASSED_ON && !text.contains(['\n', '\u{1b}']), "{text}");
    }

    #[tokio::test]
    async fn output_that_is_too_long_is_not_read_to_its_end() {
        let endless = || Some(tokio::io::repeat(0));
        let error = at_most(1_000, endless(), "machine code", "; raise it").await.unwrap_err().to_string();
        assert_eq!(error, "the compiler wrote more than 1000 bytes of machine code; raise it");
        let read = at_most(3, Some(&b"abc"[..]), "messages", "").await.unwrap();
        assert_eq!(read, b"abc");
    }
}
