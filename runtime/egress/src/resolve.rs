//! Where addresses come from.

use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// A source of addresses. What it answers is checked before anything is dialled.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// The addresses of `host`, a canonical name, in the order in which to try them.
    ///
    /// # Errors
    ///
    /// If the name cannot be resolved.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver.
pub(crate) struct System;

#[async_trait]
impl Resolve for System {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        // As it stands, so that /etc/hosts counts.
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|it| it.ip()).collect())
    }
}
