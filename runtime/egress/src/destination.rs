//! Where a connection leads: an endpoint of a provider, or what the host itself reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::addresses::AllowedAddresses;
use crate::base_url::Origin;
use crate::client_certificate::ClientCertificate;
use crate::endpoint::Endpoint;
use crate::proxy::Proxy;

/// Where a connection leads, and what the operator says of it.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// How messages call it, and where the operator writes about it: `endpoint api`.
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// The operator wrote the origin, so that an address literal in it is meant.
    pub(crate) is_written: bool,
    /// It is where this process itself gets keys from, and may be a metadata service. No endpoint is.
    pub(crate) is_key_source: bool,
    /// Which addresses its host may have.
    pub(crate) addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// The certificate that is shown there.
    pub(crate) client_certificate: Option<ClientCertificate>,
    /// The proxy through which it is reached.
    pub(crate) proxy: Option<Proxy>,
    /// For resolving the name.
    pub(crate) resolve: Duration,
    /// For the TCP connection to one address.
    pub(crate) connect: Duration,
    /// For the TLS handshake.
    pub(crate) tls: Duration,
}

impl From<&Endpoint> for Destination {
    /// Towards the first of its origins.
    fn from(endpoint: &Endpoint) -> Self {
        let origin = endpoint.place.origins().into_iter().next();
        Self::at(endpoint, origin.expect("an endpoint is checked to have an origin before anything is sent there"))
    }
}

impl Destination {
    /// Towards one of the origins of an endpoint.
    pub(crate) fn at(endpoint: &Endpoint, origin: Origin) -> Self {
        let limits = &endpoint.limits;
        Self {
            name: format!("endpoint {}", endpoint.name),
            origin,
            is_written: true,
            is_key_source: false,
            addresses: endpoint.addresses.clone(),
            ca_file: endpoint.ca_file.clone(),
            client_certificate: endpoint.client_certificate.clone(),
            proxy: endpoint.proxy.clone(),
            resolve: limits.resolve,
            connect: limits.connect,
            tls: limits.tls,
        }
    }

    /// Where a connection to a proxy itself leads, for a connection that goes on to this destination.
    pub(crate) fn through(&self, proxy: &Proxy) -> Self {
        Self {
            name: format!("the proxy of {}", self.name),
            origin: proxy.url.0.clone(),
            is_written: true,
            is_key_source: false,
            addresses: proxy.addresses.clone(),
            ca_file: proxy.ca_file.clone(),
            client_certificate: None,
            proxy: None,
            ..self.clone()
        }
    }
}
