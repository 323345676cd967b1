//! The kinds of objects in a project.

use super::service::Service;

/// A kind of object, as its service lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is called as its service calls it")]
pub enum Kind {
    Server,
    Flavor,
    Network,
    Subnet,
    Port,
    FloatingIp,
    Router,
    SecurityGroup,
    SecurityGroupRule,
    LoadBalancer,
    Listener,
    Pool,
    Member,
    HealthMonitor,
    LoadBalancerFlavor,
    AvailabilityZone,
    Container,
    Secret,
    Volume,
    VolumeMessage,
}

impl Kind {
    /// The key around one of them in a body.
    #[must_use]
    pub fn one(self) -> &'static str {
        match self {
            Kind::Server => "server",
            Kind::Flavor | Kind::LoadBalancerFlavor => "flavor",
            Kind::Network => "network",
            Kind::Subnet => "subnet",
            Kind::Port => "port",
            Kind::FloatingIp => "floatingip",
            Kind::Router => "router",
            Kind::SecurityGroup => "security_group",
            Kind::SecurityGroupRule => "security_group_rule",
            Kind::LoadBalancer => "loadbalancer",
            Kind::Listener => "listener",
            Kind::Pool => "pool",
            Kind::Member => "member",
            Kind::HealthMonitor => "healthmonitor",
            Kind::AvailabilityZone => "availability_zone",
            Kind::Container => "container",
            Kind::Secret => "secret",
            Kind::Volume => "volume",
            Kind::VolumeMessage => "message",
        }
    }

    /// The key around many of them.
    #[must_use]
    pub fn many(self) -> String {
        format!("{}s", self.one())
    }

    /// The name in Neutron's and Octavia's sentences, as in `Load Balancer`.
    pub(super) fn called(self) -> &'static str {
        match self {
            Kind::LoadBalancer => "Load Balancer",
            Kind::Listener => "Listener",
            Kind::Pool => "Pool",
            Kind::Member => "Member",
            Kind::HealthMonitor => "Health Monitor",
            Kind::LoadBalancerFlavor => "Flavor",
            Kind::Port => "Port",
            Kind::Subnet => "Subnet",
            Kind::Network => "Network",
            Kind::Router => "Router",
            Kind::FloatingIp => "Floating IP",
            Kind::SecurityGroup => "Security group",
            Kind::SecurityGroupRule => "Security group rule",
            Kind::Server => "Instance",
            Kind::Flavor => "Flavor",
            Kind::AvailabilityZone => "Availability Zone",
            Kind::Container => "Container",
            Kind::Secret => "Secret",
            Kind::Volume => "Volume",
            Kind::VolumeMessage => "Message",
        }
    }

    /// The kind that a segment of a path lists, in its service.
    pub(super) fn listed(service: Service, segment: &str) -> Option<Kind> {
        let all: &[(&str, Kind)] = match service {
            Service::Compute => &[("servers", Kind::Server), ("flavors", Kind::Flavor)],
            Service::Network => &[
                ("networks", Kind::Network),
                ("subnets", Kind::Subnet),
                ("ports", Kind::Port),
                ("floatingips", Kind::FloatingIp),
                ("routers", Kind::Router),
                ("security-groups", Kind::SecurityGroup),
                ("security-group-rules", Kind::SecurityGroupRule),
            ],
            Service::LoadBalancer => &[
                ("loadbalancers", Kind::LoadBalancer),
                ("listeners", Kind::Listener),
                ("pools", Kind::Pool),
                ("healthmonitors", Kind::HealthMonitor),
                ("flavors", Kind::LoadBalancerFlavor),
                ("availabilityzones", Kind::AvailabilityZone),
            ],
            Service::KeyManager => &[("containers", Kind::Container), ("secrets", Kind::Secret)],
            Service::Volume => &[("volumes", Kind::Volume), ("messages", Kind::VolumeMessage)],
            Service::Identity => &[],
        };
        all.iter().find(|(name, _)| *name == segment).map(|(_, kind)| *kind)
    }
}
