//! The outside world, as far as tests replace it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;

/// The parts that tests put in place of the outside world.
pub struct Overrides {
    /// Used for every request, instead of a client for the API server that the settings name.
    pub client: Option<Client>,
    /// Where a checked address of the cloud really is. The identity, unless a test leads it to loopback.
    pub route: fn(SocketAddr) -> SocketAddr,
    /// The addresses of the cloud's names, instead of the system's resolver. They are checked like the system's answers.
    pub names: Option<Arc<dyn egress::Resolve>>,
    /// The program that compiles providers: the binary itself. Without one, they are compiled in this process.
    pub compiler: Option<PathBuf>,
}

impl Default for Overrides {
    fn default() -> Self {
        Self { client: None, route: |it| it, names: None, compiler: None }
    }
}
