use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Event, EventKind};
use egress::{EgressCall, Seen};
use parking_lot::Mutex;
use tracing::Level;
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::events::CallEvents;
use super::limiter::Limiter;
use super::log::GuestLog;
use crate::bindings::host::aerostat::cloud::{config, events, http, log, types};
use crate::convert;
use crate::meter::Meter;
use crate::ticker::Ticking;

const TABLE_CAPACITY: usize = 4096;

/// Everything that a guest can touch during one call. Made for the call and dropped with it.
pub(crate) struct StoreState {
    wasi: WasiCtx,
    table: ResourceTable,
    limiter: Limiter,
    meter: Arc<Meter>,
    egress: EgressCall,
    settings: Arc<[(String, String)]>,
    cluster: Option<types::Cluster>,
    log: Arc<Mutex<GuestLog>>,
    events: CallEvents,
    /// Without it, nothing would interrupt the guest.
    _ticking: Ticking,
}

impl StoreState {
    #[expect(clippy::too_many_arguments, reason = "each is another thing, and passed in by its name")]
    pub(super) fn new(
        wasi: WasiCtx,
        egress: EgressCall,
        settings: Arc<[(String, String)]>,
        cluster: Option<types::Cluster>,
        limiter: Limiter,
        meter: Arc<Meter>,
        log: Arc<Mutex<GuestLog>>,
        ticking: Ticking,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(TABLE_CAPACITY);
        Self {
            wasi,
            table,
            limiter,
            meter,
            egress,
            settings,
            cluster,
            log,
            events: CallEvents::default(),
            _ticking: ticking,
        }
    }

    /// The same for a call about so many objects: each has room for events.
    pub(super) fn about_several(self, objects: u32) -> Self {
        Self { events: CallEvents::about_several(objects), ..self }
    }

    pub(super) fn limiter(&mut self) -> &mut dyn ResourceLimiter {
        &mut self.limiter
    }

    /// Bytes of linear memory so far.
    pub(super) fn memory(&self) -> usize {
        self.limiter.memory()
    }

    /// Whether a write may have left the host.
    pub(super) fn wrote(&self) -> bool {
        self.egress.wrote()
    }

    /// The guest's events beside its answer, and its requests as the egress saw them.
    pub(super) fn into_events_and_seen(self) -> (Vec<Event>, Seen) {
        (self.events.into_vec(), self.egress.into_seen())
    }

    fn write_log(&self, level: Level, message: &str, fields: &[(String, String)]) {
        self.log.lock().write(level, message, fields);
    }
}

impl WasiView for StoreState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl http::Host for StoreState {
    async fn send(&mut self, request: http::Request) -> Result<http::Response, http::Error> {
        // The guest pays for its own words. What the cloud says is the host's to read.
        let answer = match self.egress.judge(convert::http::request(request)) {
            Ok(judged) => self.meter.leave_out(judged.send()).await,
            Err(refused) => Err(refused),
        };
        answer.map(convert::http::response).map_err(convert::http::error)
    }

    fn throttle(&mut self, endpoint: String, milliseconds: u32, reason: String) {
        self.egress.throttle(&endpoint, Duration::from_millis(milliseconds.into()), &reason);
    }

    fn resolve_url(&mut self, url: String) -> Option<http::Location> {
        self.egress.resolve_url(&url).map(convert::http::location)
    }
}

impl types::Host for StoreState {}

impl config::Host for StoreState {
    fn settings(&mut self) -> Vec<(String, String)> {
        self.settings.to_vec()
    }

    fn current_cluster(&mut self) -> Option<types::Cluster> {
        self.cluster.clone()
    }
}

impl log::Host for StoreState {
    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        let level = match level {
            log::Level::Debug => Level::DEBUG,
            log::Level::Info => Level::INFO,
            log::Level::Warn => Level::WARN,
            log::Level::Error => Level::ERROR,
        };
        self.write_log(level, &message, &fields);
    }
}

impl events::Host for StoreState {
    fn emit(&mut self, about: Option<String>, kind: events::EventKind, reason: String, message: String) {
        let kind = match kind {
            events::EventKind::Normal => EventKind::Normal,
            events::EventKind::Warning => EventKind::Warning,
        };
        if let Err(because) = self.events.add(Event { about, kind, reason, message }) {
            self.write_log(Level::WARN, &format!("an event was dropped: {because}"), &[]);
        }
    }
}
