//! The cloud of the SDK's other example, in memory: served by the SDK itself, as that of every provider that
//! `aerostat provider new` makes.

use aerostat_sdk::testing::{ServedCloud, serve as serve_memory};

#[path = "../../../guest-sdk/examples/acme-async/cloud.rs"]
pub mod cloud;

/// Serves it on a port of loopback, or on a free one with 0, until the process ends.
///
/// # Errors
///
/// Fails if the port is taken.
pub fn serve(port: u16) -> anyhow::Result<ServedCloud> {
    Ok(serve_memory(cloud::AsyncCloud::default(), port)?)
}
