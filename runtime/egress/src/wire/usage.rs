//! Which requests are on a connection, and its end after one that failed.
//!
//! The client's pool only stops using a poisoned connection: its socket stays open as long as the other end likes, which
//! then goes on sending. Here it is closed once no request waits on it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Waker};

use hyper_util::client::legacy::connect::CaptureConnection;
use parking_lot::{Mutex, MutexGuard};

/// The HTTP/2 frames beside those of bodies that a server may send for one request: for a request body of 8 MiB in
/// frames of 16 KiB each, a WINDOW_UPDATE for the stream and one for the connection, twice over.
const FRAMES: u32 = 2_048;

/// A connection that was made.
#[derive(Clone)]
pub(super) struct Dialed {
    /// The checked address behind it.
    pub(super) address: SocketAddr,
    pub(super) usage: ConnectionUse,
}

/// The use of a connection. Shared by the socket and by the requests on it.
#[derive(Clone, Default)]
pub(super) struct ConnectionUse(Arc<Mutex<UsageState>>);

#[derive(Default)]
struct UsageState {
    requests: u32,
    /// Frames since the last request began.
    frames: u32,
    /// A request has failed: no further one begins.
    has_failed: bool,
    /// Why the connection is over.
    over: Option<&'static str>,
    /// The waker of the task that drives the connection.
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl ConnectionUse {
    /// An error once the connection is over. Until then, the reading task is woken when it is.
    pub(super) fn check_reading(&self, context: &Context<'_>) -> io::Result<()> {
        let mut state = self.state();
        remember(&mut state.reader, context);
        state.check()
    }

    /// As [`ConnectionUse::check_reading`], of the writing task.
    pub(super) fn check_writing(&self, context: &Context<'_>) -> io::Result<()> {
        let mut state = self.state();
        remember(&mut state.writer, context);
        state.check()
    }

    /// Closes the connection now, whatever goes on on it.
    pub(super) fn close(&self, because: &'static str) {
        let mut state = self.state();
        state.over.get_or_insert(because);
        let wakers = [state.reader.take(), state.writer.take()];
        // Whoever is woken asks again.
        drop(state);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Counts frames that have arrived. `false`: these are more than the requests can have caused.
    pub(super) fn count_frames(&self, frames: u32) -> bool {
        let mut state = self.state();
        state.frames = state.frames.saturating_add(frames);
        state.frames <= FRAMES.saturating_mul(state.requests.max(1))
    }

    fn begin(&self) {
        let mut state = self.state();
        state.requests += 1;
        state.frames = 0;
    }

    fn end(&self, failed: bool) {
        let mut state = self.state();
        state.requests = state.requests.saturating_sub(1);
        state.has_failed |= failed;
        let is_over = state.has_failed && state.requests == 0;
        drop(state);
        if is_over {
            self.close("a request on it has failed");
        }
    }

    fn state(&self) -> MutexGuard<'_, UsageState> {
        self.0.lock()
    }
}

impl UsageState {
    fn check(&self) -> io::Result<()> {
        self.over.map_or(Ok(()), |because| Err(io::Error::new(io::ErrorKind::ConnectionAborted, because)))
    }
}

fn remember(waker: &mut Option<Waker>, context: &Context<'_>) {
    if !waker.as_ref().is_some_and(|it| it.will_wake(context.waker())) {
        *waker = Some(context.waker().clone());
    }
}

/// A request, from before it has a connection to its end. If it is dropped without [`Tracked::ended_well`], because it
/// failed or because its call was given up, nothing else begins on its connection, which is closed after its last request.
pub(super) struct Tracked {
    connection: CaptureConnection,
    usage: Option<ConnectionUse>,
    failed: bool,
}

impl Tracked {
    pub(super) fn new(connection: CaptureConnection) -> Self {
        Self { connection, usage: None, failed: true }
    }

    /// To be called as soon as the request may have a connection, and again at will.
    pub(super) fn register(&mut self) {
        if self.usage.is_none()
            && let Some(Dialed { usage, .. }) = dialed(&self.connection)
        {
            usage.begin();
            self.usage = Some(usage);
        }
    }

    pub(super) fn ended_well(mut self) {
        self.failed = false;
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.register();
        let Some(usage) = &self.usage else { return };
        if self.failed
            && let Some(connected) = &*self.connection.connection_metadata()
        {
            connected.poison();
        }
        usage.end(self.failed);
    }
}

/// The connection that a request has.
pub(super) fn dialed(connection: &CaptureConnection) -> Option<Dialed> {
    let mut extensions = http::Extensions::new();
    connection.connection_metadata().as_ref()?.get_extras(&mut extensions);
    extensions.remove::<Dialed>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_closed(usage: &ConnectionUse) -> bool {
        usage.check_reading(&Context::from_waker(Waker::noop())).is_err()
    }

    #[test]
    fn a_connection_is_closed_after_its_last_request_if_one_failed() {
        let usage = ConnectionUse::default();
        usage.begin();
        usage.begin();
        usage.end(false);
        usage.end(false);
        assert!(!is_closed(&usage), "none failed");
        usage.begin();
        usage.begin();
        usage.end(true);
        assert!(!is_closed(&usage), "another request waits for its answer");
        usage.end(false);
        assert!(is_closed(&usage));
        assert!(usage.check_writing(&Context::from_waker(Waker::noop())).is_err());
    }

    #[test]
    fn frames_are_allowed_for_each_request() {
        let usage = ConnectionUse::default();
        assert!(usage.count_frames(FRAMES));
        assert!(!usage.count_frames(1));
        usage.begin();
        assert!(usage.count_frames(FRAMES), "a request begins to count again");
        assert!(!usage.count_frames(1));
        usage.begin();
        assert!(usage.count_frames(2 * FRAMES), "there are two");
        assert!(!usage.count_frames(u32::MAX));
    }
}
