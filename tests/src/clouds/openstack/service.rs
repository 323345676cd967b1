//! The services of OpenStack, and where each of them is.

use crate::simulator::Recorded;

/// One service, under a path of its own before the simulator: as a cloud has them behind one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Keystone.
    Identity,
    /// Nova.
    Compute,
    /// Neutron.
    Network,
    /// Octavia.
    LoadBalancer,
    /// Barbican.
    KeyManager,
    /// Cinder.
    Volume,
}

impl Service {
    /// All of them.
    pub const ALL: [Service; 6] = [
        Service::Identity,
        Service::Compute,
        Service::Network,
        Service::LoadBalancer,
        Service::KeyManager,
        Service::Volume,
    ];

    /// The type in Keystone's catalogue, which is the first segment of the path, too.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Service::Identity => "identity",
            Service::Compute => "compute",
            Service::Network => "network",
            Service::LoadBalancer => "load-balancer",
            Service::KeyManager => "key-manager",
            Service::Volume => "volumev3",
        }
    }

    /// The name in Keystone's catalogue.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Service::Identity => "keystone",
            Service::Compute => "nova",
            Service::Network => "neutron",
            Service::LoadBalancer => "octavia",
            Service::KeyManager => "barbican",
            Service::Volume => "cinder",
        }
    }

    /// The path behind which the catalogue has it: with the version where clouds usually have it so.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Service::Identity => "/identity",
            Service::Compute => "/compute/v2.1",
            Service::Network => "/network",
            Service::LoadBalancer => "/load-balancer",
            Service::KeyManager => "/key-manager",
            // Since microversion 3.67 the project need not stand in it.
            Service::Volume => "/volumev3/v3",
        }
    }

    /// The service of a path whose first segment names it.
    #[must_use]
    pub fn of(path: &str) -> Option<Service> {
        let first = path.split('/').nth(1)?;
        Service::ALL.into_iter().find(|it| it.kind() == first)
    }

    /// Says of a request which service it is for, if it came without one: to a service that has an address of its own.
    pub(super) fn place(request: &mut Recorded) {
        if Service::of(&request.path).is_none() {
            let service = match request.path.split('/').nth(1).unwrap_or_default() {
                "v3" => Service::Identity,
                "v2.1" => Service::Compute,
                "v1" => Service::KeyManager,
                "v2.0" if !request.path.starts_with("/v2.0/lbaas") => Service::Network,
                _ => Service::LoadBalancer,
            };
            request.path = format!("/{}{}", service.kind(), request.path);
        }
        // Octavia has both, and they are one.
        if let Some(rest) = request.path.strip_prefix("/load-balancer/v2/") {
            request.path = format!("/load-balancer/v2.0/{rest}");
        }
    }
}
