//! The kinds of resources, as Azure Resource Manager has them.

/// A kind of resources that have ids, etags and operations of their own. What lies within them, as a subnet, is a part.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// Load balancers, with all that belongs to one.
    LoadBalancer,
    /// Public IP addresses.
    PublicIp,
    /// Ranges from which public IP addresses come.
    PublicIpPrefix,
    /// Network interfaces of single machines, and of flexible scale sets.
    Interface,
    /// Network security groups.
    SecurityGroup,
    /// Application security groups.
    ApplicationSecurityGroup,
    /// Route tables.
    RouteTable,
    /// Virtual networks with their subnets.
    Network,
    /// Private Link services.
    PrivateLinkService,
    /// Scale sets, uniform and flexible.
    ScaleSet,
    /// Machines of uniform scale sets.
    ScaleSetMachine,
    /// Network interfaces of those.
    ScaleSetInterface,
    /// Single machines, and machines of flexible scale sets.
    Machine,
    /// Availability sets.
    AvailabilitySet,
    /// Managed disks.
    Disk,
}

/// The service that answers for a kind.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Service {
    /// `Microsoft.Network`.
    Network,
    /// `Microsoft.Compute`.
    Compute,
}

const NETWORK: &str = "Microsoft.Network";
const COMPUTE: &str = "Microsoft.Compute";
const SETS: &str = "virtualMachineScaleSets";
const MACHINES: &str = "virtualMachines";
const INTERFACES: &str = "networkInterfaces";

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 15] = [
        Kind::LoadBalancer,
        Kind::PublicIp,
        Kind::PublicIpPrefix,
        Kind::Interface,
        Kind::SecurityGroup,
        Kind::ApplicationSecurityGroup,
        Kind::RouteTable,
        Kind::Network,
        Kind::PrivateLinkService,
        Kind::ScaleSet,
        Kind::ScaleSetMachine,
        Kind::ScaleSetInterface,
        Kind::Machine,
        Kind::AvailabilitySet,
        Kind::Disk,
    ];

    /// Namespace, and the words of its ids after it.
    pub(super) fn words(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Kind::LoadBalancer => (NETWORK, &["loadBalancers"]),
            Kind::PublicIp => (NETWORK, &["publicIPAddresses"]),
            Kind::PublicIpPrefix => (NETWORK, &["publicIPPrefixes"]),
            Kind::Interface => (NETWORK, &[INTERFACES]),
            Kind::SecurityGroup => (NETWORK, &["networkSecurityGroups"]),
            Kind::ApplicationSecurityGroup => (NETWORK, &["applicationSecurityGroups"]),
            Kind::RouteTable => (NETWORK, &["routeTables"]),
            Kind::Network => (NETWORK, &["virtualNetworks"]),
            Kind::PrivateLinkService => (NETWORK, &["privateLinkServices"]),
            Kind::ScaleSet => (COMPUTE, &[SETS]),
            Kind::ScaleSetMachine => (COMPUTE, &[SETS, MACHINES]),
            Kind::ScaleSetInterface => (COMPUTE, &[SETS, MACHINES, INTERFACES]),
            Kind::Machine => (COMPUTE, &[MACHINES]),
            Kind::AvailabilitySet => (COMPUTE, &["availabilitySets"]),
            Kind::Disk => (COMPUTE, &["disks"]),
        }
    }

    /// The word for many, in paths: `loadBalancers`.
    #[must_use]
    pub fn many(self) -> &'static str {
        self.words().1.last().copied().unwrap_or_default()
    }

    /// The type of a resource: `Microsoft.Network/loadBalancers`.
    #[must_use]
    pub fn full_type(self) -> String {
        let (namespace, words) = self.words();
        format!("{namespace}/{}", words.join("/"))
    }

    /// The service that answers for it.
    #[must_use]
    pub fn service(self) -> Service {
        match self.words().0 {
            NETWORK => Service::Network,
            // The interfaces of a scale set are the network's, too, for all that their ids say.
            _ if self == Kind::ScaleSetInterface => Service::Network,
            _ => Service::Compute,
        }
    }

    /// The lists within the properties whose elements have ids of their own.
    pub(super) fn parts(self) -> &'static [&'static str] {
        match self {
            Kind::LoadBalancer => &[
                "frontendIPConfigurations",
                "backendAddressPools",
                "loadBalancingRules",
                "probes",
                "inboundNatRules",
                "inboundNatPools",
                "outboundRules",
            ],
            Kind::Interface | Kind::ScaleSetInterface => &["ipConfigurations"],
            Kind::SecurityGroup => &["securityRules"],
            Kind::RouteTable => &["routes"],
            Kind::Network => &["subnets"],
            Kind::PrivateLinkService => &["ipConfigurations", "privateEndpointConnections"],
            _ => &[],
        }
    }

    /// Whether it has an etag, which a change may name.
    pub(super) fn has_etag(self) -> bool {
        !matches!(self, Kind::AvailabilitySet | Kind::Disk)
    }

    /// Whether its writes are done when they are answered: no operation begins, and it has no state.
    pub(super) fn is_immediate(self) -> bool {
        self == Kind::AvailabilitySet
    }

    /// The kind with this namespace and these words.
    pub(super) fn with(namespace: &str, words: &[&str]) -> Option<Kind> {
        Kind::ALL.into_iter().find(|it| it.words() == (namespace, words))
    }
}

impl Service {
    /// `Microsoft.Network`.
    #[must_use]
    pub fn namespace(self) -> &'static str {
        match self {
            Service::Network => NETWORK,
            Service::Compute => COMPUTE,
        }
    }
}
