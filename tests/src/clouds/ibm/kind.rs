//! Kinds of objects.

/// A kind of object.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum VpcKind {
    /// A virtual network.
    Vpc,
    /// A part of one, in a zone.
    Subnet,
    /// A machine.
    Instance,
    /// A public address.
    FloatingIp,
    /// A volume.
    Volume,
    /// Rules about who may reach something.
    SecurityGroup,
    /// An entry of a routing table.
    Route,
    /// A load balancer.
    LoadBalancer,
    /// A port that clients dial.
    Listener,
    /// Nodes that traffic of one port goes to.
    Pool,
    /// One of these.
    Member,
}

impl VpcKind {
    /// The word for it.
    #[must_use]
    pub fn one(self) -> &'static str {
        match self {
            Self::Vpc => "vpc",
            Self::Subnet => "subnet",
            Self::Instance => "instance",
            Self::FloatingIp => "floating ip",
            Self::Volume => "volume",
            Self::SecurityGroup => "security group",
            Self::Route => "route",
            Self::LoadBalancer => "load balancer",
            Self::Listener => "listener",
            Self::Pool => "pool",
            Self::Member => "member",
        }
    }

    /// Its list in paths and answers.
    pub(super) fn many(self) -> &'static str {
        match self {
            Self::Vpc => "vpcs",
            Self::Subnet => "subnets",
            Self::Instance => "instances",
            Self::FloatingIp => "floating_ips",
            Self::Volume => "volumes",
            Self::SecurityGroup => "security_groups",
            Self::Route => "routes",
            Self::LoadBalancer => "load_balancers",
            Self::Listener => "listeners",
            Self::Pool => "pools",
            Self::Member => "members",
        }
    }
}
