//! The parts of WASI that the standard library of wasm32-wasip2 needs, and nothing behind them: no environment, no
//! files, no sockets.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream, WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random};
use wasmtime_wasi::p2::{self, OutputStream, Pollable, StreamResult};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiView as _};

use super::log::{GuestLog, GuestStream};
use super::state::StoreState;

/// The interfaces that are linked. An import of any other is an error at load.
const INERT: [&str; 20] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// A millisecond: enough for a provider, too coarse to measure its neighbours.
const RESOLUTION: Duration = Duration::from_millis(1);
const RANDOM_BYTES: u64 = 64 << 10;

/// Whether `import`, with its version, is one of the inert parts.
pub(crate) fn is_inert(import: &str) -> bool {
    import.split_once('@').is_some_and(|(name, version)| INERT.contains(&name) && version.starts_with("0.2."))
}

pub(super) fn add_to_linker(linker: &mut Linker<StoreState>) -> wasmtime::Result<()> {
    // Clocks, io, randomness, standard streams.
    p2::add_to_linker_proxy_interfaces_async(linker)?;
    cli::environment::add_to_linker::<_, WasiCli>(linker, StoreState::cli)?;
    cli::exit::add_to_linker::<_, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(linker, StoreState::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(linker, StoreState::cli)?;
    filesystem::preopens::add_to_linker::<_, WasiFilesystem>(linker, StoreState::filesystem)?;
    filesystem::types::add_to_linker::<_, WasiFilesystem>(linker, StoreState::filesystem)?;
    random::insecure::add_to_linker::<_, WasiRandom>(linker, |it| it.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<_, WasiRandom>(linker, |it| it.ctx().ctx.random())
}

/// The context of one call: what the guest prints goes to `log`.
pub(super) fn context(log: &Arc<Mutex<GuestLog>>) -> WasiCtx {
    WasiCtx::builder()
        .stdout(PrintedOutput { log: log.clone(), stream: GuestStream::Stdout })
        .stderr(PrintedOutput { log: log.clone(), stream: GuestStream::Stderr })
        .wall_clock(WallClock)
        .monotonic_clock(MonotonicClock(Instant::now()))
        .max_random_size(RANDOM_BYTES)
        .build()
}

struct WallClock;

impl HostWallClock for WallClock {
    fn resolution(&self) -> Duration {
        RESOLUTION
    }

    fn now(&self) -> Duration {
        coarse(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

/// Begins at zero in every call.
struct MonotonicClock(Instant);

impl HostMonotonicClock for MonotonicClock {
    fn resolution(&self) -> u64 {
        nanoseconds(RESOLUTION)
    }

    fn now(&self) -> u64 {
        nanoseconds(coarse(self.0.elapsed()))
    }
}

fn coarse(time: Duration) -> Duration {
    Duration::new(time.as_secs(), time.subsec_millis() * 1_000_000)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Standard output or error of a guest.
#[derive(Clone)]
struct PrintedOutput {
    log: Arc<Mutex<GuestLog>>,
    stream: GuestStream,
}

impl IsTerminal for PrintedOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for PrintedOutput {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // For WASI 0.3, which is not linked.
        Box::new(tokio::io::sink())
    }
}

#[async_trait]
impl Pollable for PrintedOutput {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for PrintedOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log.lock().print(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_other_versions_are_not_linked() {
        assert!(is_inert("wasi:cli/environment@0.2.6"));
        for import in [
            "wasi:sockets/tcp@0.2.6",
            "wasi:http/outgoing-handler@0.2.6",
            "wasi:cli/environment@0.3.0",
            "wasi:cli/environment",
            "env",
        ] {
            assert!(!is_inert(import), "{import} was taken");
        }
    }
}
