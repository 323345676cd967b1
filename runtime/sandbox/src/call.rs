//! One call of a provider: a store of its own, limits on all that it may use, and an end.

mod events;
mod function;
mod last_lines;
mod limiter;
mod limits;
mod linker;
mod log;
mod places;
mod state;
mod wasi;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use cloud_provider::{Cluster, ConfigMapKey, Freshness, Reply};
use egress::{CallId, Egress, ListReads, Seen};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

pub(crate) use self::function::Function;
use self::limiter::{Exceeded, Limiter};
pub use self::limits::CallLimits;
use self::limits::REQUEST_TIMES;
pub(crate) use self::linker::linker;
use self::log::{GuestLog, Quota};
use self::places::CallPlace;
pub(crate) use self::places::{CallPlaces, Capability, Share};
pub(crate) use self::state::StoreState;
pub(crate) use self::wasi::is_inert;
use crate::convert::{self, texts::Texts};
use crate::engine::Sandbox;
use crate::meter::Meter;
use crate::metrics::Metrics;
use crate::untrusted::printable;
use sha256::Digest;

/// The bytes that the guest may hand to the host in one piece: an answer, a request, a log line.
const HOSTCALL_BYTES: usize = 8 << 20;
const COMPONENT_HANDLES: usize = 10_000;

/// The most times as many of these bytes in a call about several load balancers.
const HOSTCALL_TIMES: u32 = 4;

/// Which answers from before may serve a call's reads.
#[derive(Default)]
pub(crate) struct Earlier {
    /// Those of a list: of its earlier pages, or of one that has just ended.
    pub(crate) list: Option<ListReads>,
    /// How fresh all others have to be.
    pub(crate) freshness: Freshness,
}

impl Earlier {
    /// Any that is so fresh.
    pub(crate) fn resting_on(freshness: Freshness) -> Self {
        Self { freshness, ..Self::default() }
    }
}

/// The right to run calls, one at a time. Only [`Calls::permit`] makes one.
pub(crate) struct Permit<'a>(#[expect(dead_code, reason = "it counts until it is dropped")] CallPlace<'a>);

/// Runs the calls of one provider.
pub(crate) struct Calls {
    sandbox: Sandbox,
    /// The provider's name; until it is described, the module's.
    pub(crate) provider: Arc<str>,
    pub(crate) digest: Digest,
    settings: Arc<[(String, String)]>,
    /// Known after the provider is described, and before it is asked anything else.
    cluster: Arc<OnceLock<Arc<Cluster>>>,
    /// The values in ConfigMaps that the provider describes.
    pub(crate) config_maps: Arc<[ConfigMapKey]>,
    limits: CallLimits,
    pub(crate) egress: Egress,
    metrics: Metrics,
    /// Those of all versions of the provider.
    places: Arc<CallPlaces>,
    /// The share of a call that writes load balancers.
    pub(crate) share: Share,
    quota: Arc<Quota>,
}

impl Calls {
    /// The UID of the cluster, once it is known.
    pub(crate) fn cluster_uid(&self) -> Option<String> {
        self.cluster.get().map(|it| it.uid.clone())
    }

    #[expect(clippy::too_many_arguments, reason = "each is another thing, and passed in by its name")]
    pub(crate) fn new(
        sandbox: Sandbox,
        provider: Arc<str>,
        digest: Digest,
        settings: Arc<[(String, String)]>,
        cluster: Arc<OnceLock<Arc<Cluster>>>,
        limits: CallLimits,
        places: Arc<CallPlaces>,
        egress: Egress,
        metrics: Metrics,
    ) -> Self {
        let (share, quota, config_maps) = (Share::default(), Arc::default(), Arc::default());
        Self {
            sandbox,
            provider,
            digest,
            settings,
            cluster,
            config_maps,
            limits,
            egress,
            metrics,
            places,
            share,
            quota,
        }
    }

    /// Waits until one more call of this function may run.
    pub(crate) async fn permit(&self, function: Function) -> Permit<'_> {
        Permit(self.places.take(function.capability(), function.is_limited().then_some(self.share)).await)
    }

    /// Runs `body` in a store of its own, for no longer than the limits allow, and drops the store. `marks` are the texts that show of a request whose load balancer it makes.
    /// The call's requests, as the egress saw them, come beside the answer.
    ///
    /// Events count however the call ended.
    pub(crate) async fn run<T: CallAnswer>(
        &self,
        _permit: &Permit<'_>,
        function: Function,
        earlier: Earlier,
        marks: &[String],
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> (Reply<Result<T, Crash>>, Seen) {
        let start = Instant::now();
        let limits = self.limits.of(function);
        let id = self.next_id(function);
        let log = Arc::new(Mutex::new(GuestLog::new(id.clone(), self.digest, self.quota.clone(), self.egress.clone())));
        let meter = Arc::new(Meter::default());
        let egress = self.egress.open(id.clone(), limits.mode(function)).marked_by(marks.to_vec());
        let egress = egress.about_several(function.objects().min(REQUEST_TIMES));
        let egress = egress.resting_on(earlier.freshness);
        let egress = match earlier.list {
            Some(list) => egress.within(list),
            None => egress,
        };
        let state = StoreState::new(
            wasi::context(&log),
            egress,
            self.settings.clone(),
            self.cluster.get().filter(|_| !function.describes()).map(|it| convert::cluster(it, &self.config_maps)),
            Limiter::new(limits.memory),
            meter.clone(),
            log.clone(),
            self.sandbox.tick(),
        );
        let mut store = self.store(state.about_several(function.objects()), meter.clone(), function);

        let call = AssertUnwindSafe(body(&mut store)).catch_unwind();
        let answer = match tokio::time::timeout(limits.wall, meter.measure(call)).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(Crash::of(&error)),
            Ok(Err(_)) => Err(Crash::Panic),
            Err(_) => Err(Crash::Wall),
        };

        let state = store.into_data();
        let (dropped, last_words) = {
            let mut log = log.lock();
            (log.finish(), log.last_words())
        };
        let answer = answer.map_err(|it| it.with(last_words));
        let outcome = match &answer {
            Ok(answer) if answer.is_error() => "guest-error",
            Ok(_) => "ok",
            Err(crash) => crash.outcome(),
        };
        self.metrics.log_dropped.with_label_values(&[id.function]).inc_by(dropped);
        self.metrics.provider_calls.with_label_values(&[id.function, outcome]).inc();
        tracing::debug!(
            provider = &*id.provider,
            function = id.function,
            call = id.id,
            outcome,
            cpu_us = meter.spent().as_micros() as u64,
            wall_us = start.elapsed().as_micros() as u64,
            memory = state.memory(),
            "provider call ended"
        );
        let wrote = state.wrote();
        let (events, seen) = state.into_events_and_seen();
        (Reply { answer, events, wrote }, seen)
    }

    /// The text for a person about a crash: "get was stopped …".
    pub(crate) fn explain(&self, function: Function, crash: &Crash) -> String {
        let CallLimits { cpu, wall, memory, .. } = self.limits.of(function);
        match crash {
            Crash::Trap { text, printed: Some(printed) } => {
                format!("{function} crashed: {text}; the last that it printed: {printed}")
            }
            Crash::Trap { text, printed: None } => {
                format!("{function} crashed: {text}; its own log lines, if any, say more")
            }
            Crash::Cpu => format!("{function} was stopped after {cpu:?} of CPU time (provider.limits.cpu)"),
            Crash::Memory => {
                format!(
                    "{function} was stopped: it wanted more than {} KiB of memory (provider.limits.memory)",
                    memory >> 10
                )
            }
            Crash::Wall => format!("{function} was stopped after {wall:?} (provider.limits.wall)"),
            Crash::Panic => {
                format!("{function} failed inside the host: this is a bug in Aerostat, and its log has a panic message")
            }
        }
    }

    fn next_id(&self, function: Function) -> CallId {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        CallId { provider: self.provider.clone(), function: function.as_str(), id: CALLS.fetch_add(1, Relaxed) }
    }

    fn store(&self, state: StoreState, meter: Arc<Meter>, function: Function) -> Store<StoreState> {
        let mut store = Store::new(self.sandbox.engine(), state);
        store.limiter(StoreState::limiter);
        store.set_hostcall_fuel(HOSTCALL_BYTES * function.objects().min(HOSTCALL_TIMES) as usize);
        store.set_max_component_handles(COMPONENT_HANDLES);
        // Yield on every tick, so that a busy guest cannot outlive its deadline and its neighbours get their turn.
        // Tokio's own yield also lets the runtime look at its timers and sockets.
        let budget = self.limits.of(function).cpu;
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if meter.running() > budget {
                return Err(Exceeded::Cpu.into());
            }
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
        });
        store
    }
}

/// The answer of a function.
pub(crate) trait CallAnswer: Send {
    /// Whether the provider reports a failure in it.
    fn is_error(&self) -> bool;
}

impl<T: Success, E: Send> CallAnswer for Result<T, E> {
    fn is_error(&self) -> bool {
        self.as_ref().map_or(true, Success::is_failure)
    }
}

/// The answer of a function that answers no error.
pub(crate) trait Success: Send {
    /// Whether the provider reports a failure in it all the same.
    fn is_failure(&self) -> bool {
        false
    }
}

impl<T: Send, E: Send> CallAnswer for Vec<Result<T, E>> {
    fn is_error(&self) -> bool {
        self.iter().any(Result::is_err)
    }
}

/// How a call ended that did not return.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Crash {
    /// The guest's crash, and the last lines that it printed on its standard error: one line each.
    Trap {
        text: String,
        printed: Option<String>,
    },
    Cpu,
    Memory,
    Wall,
    /// A panic in a host function.
    Panic,
}

impl Texts for Crash {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Trap { text, printed } => {
                text.each(visit);
                printed.each(visit);
            }
            Self::Cpu | Self::Memory | Self::Wall | Self::Panic => {}
        }
    }
}

impl Crash {
    fn of(error: &wasmtime::Error) -> Self {
        match error.downcast_ref() {
            Some(Exceeded::Cpu) => return Self::Cpu,
            Some(Exceeded::Memory) => return Self::Memory,
            Some(Exceeded::Table) | None => {}
        }
        let text = match (error.downcast_ref::<Trap>(), error.downcast_ref::<I32Exit>()) {
            (Some(trap), _) => trap.to_string(),
            (_, Some(exit)) => format!("it exited with status {}", exit.0),
            (None, None) => error.root_cause().to_string(),
        };
        Self::Trap { text: printable(text.lines().next().unwrap_or_default(), 256), printed: None }
    }

    /// The same, with what the guest printed last: where it trapped, that says why.
    fn with(mut self, last_words: Option<String>) -> Self {
        if let Self::Trap { printed, .. } = &mut self {
            *printed = last_words;
        }
        self
    }

    /// The value of the label `outcome`.
    fn outcome(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "trap",
            Self::Cpu => "cpu-budget",
            Self::Memory => "memory",
            Self::Wall => "timeout",
            Self::Panic => "host-panic",
        }
    }
}
