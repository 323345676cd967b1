//! The host's functions: on wasm the component's imports, elsewhere the stand-in of `testing`.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::testing::imports::{
    current_cluster, emit_event, now, resolve_url, send, settings, throttle, write_log,
};

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::host::aerostat::cloud::{
    config::{current_cluster, settings},
    events::emit as emit_event,
    http::{resolve_url, send, throttle},
    log::write as write_log,
};

/// Seconds since 1970, by the host's clock.
#[cfg(target_arch = "wasm32")]
pub(crate) fn now() -> u64 {
    use std::time::SystemTime;
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.as_secs())
}
