//! The attributes that a client may give a load balancer, and the defaults where it gives none.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// The service's names for sizes, which each stand for a number of nodes.
const SIZES: [(&str, u32); 3] = [("lb-small", 1), ("lb-medium", 3), ("lb-large", 6)];

/// The project of whatever belongs to no other.
const PROJECT: &str = "9cc10173-e9ea-4176-9dbc-a4cee4c4ff30";

/// The attributes of a load balancer, all of them: a PUT replaces them, and what it leaves out is again as it is by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attributes {
    /// Unique in the account, unless a test says otherwise.
    pub name: String,
    /// A slug.
    #[serde(skip)]
    pub region: String,
    /// `REGIONAL` or `REGIONAL_NETWORK`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `EXTERNAL` or `INTERNAL`.
    pub network: String,
    /// `IPV4` or `DUALSTACK`.
    pub network_stack: String,
    /// A VPC's id.
    #[serde(skip_deserializing)]
    pub vpc_uuid: String,
    /// A VPC subnet's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_uuid: Option<String>,
    /// How many nodes it has.
    #[serde(skip_deserializing)]
    pub size_unit: u32,
    /// Has no effect any more.
    pub algorithm: String,
    /// At least one.
    pub forwarding_rules: Vec<ForwardingRule>,
    /// How targets are checked.
    pub health_check: HealthCheck,
    /// Whether clients stay with their target.
    pub sticky_sessions: StickySessions,
    /// The clients that may connect.
    pub firewall: Firewall,
    /// The targets, as they were named.
    pub droplet_ids: Vec<u64>,
    /// In the place of `droplet_ids`: all droplets with this tag. Otherwise empty.
    pub tag: String,
    /// Whether port 80 leads to port 443.
    pub redirect_http_to_https: bool,
    /// Whether targets get the client's address.
    pub enable_proxy_protocol: bool,
    /// Whether connections to targets are kept.
    pub enable_backend_keepalive: bool,
    /// From 30 to 600.
    pub http_idle_timeout_seconds: u32,
    /// Whether no DNS records are made for certificates of Let's Encrypt.
    pub disable_lets_encrypt_dns_records: bool,
    /// The project that it belongs to.
    pub project_id: String,
    /// `DEFAULT` or `STRONG`.
    pub tls_cipher_policy: String,
}

/// From a port of the load balancer to a port of its targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardingRule {
    /// `http`, `https`, `http2`, `http3`, `tcp` or `udp`.
    pub entry_protocol: String,
    /// From 1 to 65535.
    pub entry_port: u32,
    /// As `entry_protocol`, without `http3`.
    pub target_protocol: String,
    /// From 1 to 65535.
    pub target_port: u32,
    /// Empty where TLS is not terminated.
    #[serde(default)]
    pub certificate_id: String,
    /// Whether targets terminate TLS.
    #[serde(default)]
    pub tls_passthrough: bool,
}

/// How targets are checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HealthCheck {
    /// `http`, `https` or `tcp`.
    pub protocol: String,
    /// From 1 to 65535.
    pub port: u32,
    /// Empty for TCP.
    pub path: String,
    /// From 3 to 300.
    pub check_interval_seconds: u32,
    /// From 3 to 300.
    pub response_timeout_seconds: u32,
    /// From 2 to 10.
    pub unhealthy_threshold: u32,
    /// From 2 to 10.
    pub healthy_threshold: u32,
    /// Whether checks speak the PROXY protocol. Absent: as the load balancer does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<bool>,
}

/// Whether clients stay with their target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StickySessions {
    /// `none` or `cookies`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Only with cookies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie_name: Option<String>,
    /// Only with cookies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie_ttl_seconds: Option<u32>,
}

/// The clients that may connect: each rule is `ip:` with an address or `cidr:` with a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Firewall {
    /// Refused.
    pub deny: Vec<String>,
    /// The only clients that are admitted.
    pub allow: Vec<String>,
}

impl Attributes {
    /// The attributes that the service makes of a request that says no more than this.
    #[must_use]
    pub fn new(name: &str, region: &str, forwarding_rules: Vec<ForwardingRule>) -> Attributes {
        Attributes {
            name: name.to_owned(),
            region: region.to_owned(),
            vpc_uuid: super::super::region::default_vpc(region).to_owned(),
            forwarding_rules,
            ..Attributes::default()
        }
    }
}

/// As published, but for name, region, VPC and rules, which have no default.
impl Default for Attributes {
    fn default() -> Attributes {
        Attributes {
            name: String::new(),
            region: String::new(),
            kind: "REGIONAL".to_owned(),
            network: "EXTERNAL".to_owned(),
            network_stack: "IPV4".to_owned(),
            vpc_uuid: String::new(),
            subnet_uuid: None,
            size_unit: 1,
            algorithm: "round_robin".to_owned(),
            forwarding_rules: Vec::new(),
            health_check: HealthCheck::default(),
            sticky_sessions: StickySessions::default(),
            firewall: Firewall::default(),
            droplet_ids: Vec::new(),
            tag: String::new(),
            redirect_http_to_https: false,
            enable_proxy_protocol: false,
            enable_backend_keepalive: false,
            http_idle_timeout_seconds: 60,
            disable_lets_encrypt_dns_records: false,
            project_id: PROJECT.to_owned(),
            tls_cipher_policy: "DEFAULT".to_owned(),
        }
    }
}

impl ForwardingRule {
    /// A rule without TLS.
    #[must_use]
    pub fn new(entry_protocol: &str, entry_port: u32, target_protocol: &str, target_port: u32) -> ForwardingRule {
        ForwardingRule {
            entry_protocol: entry_protocol.to_owned(),
            entry_port,
            target_protocol: target_protocol.to_owned(),
            target_port,
            certificate_id: String::new(),
            tls_passthrough: false,
        }
    }
}

impl Default for HealthCheck {
    fn default() -> HealthCheck {
        HealthCheck {
            protocol: "http".to_owned(),
            port: 80,
            path: String::new(),
            check_interval_seconds: 10,
            response_timeout_seconds: 5,
            unhealthy_threshold: 5,
            healthy_threshold: 3,
            proxy_protocol: None,
        }
    }
}

impl Default for StickySessions {
    fn default() -> StickySessions {
        StickySessions { kind: "none".to_owned(), cookie_name: None, cookie_ttl_seconds: None }
    }
}

/// The body of a request that creates or replaces.
#[derive(Debug, Deserialize)]
pub(crate) struct Desired {
    #[serde(flatten)]
    attributes: Attributes,
    region: Option<String>,
    vpc_uuid: Option<String>,
    size: Option<String>,
    size_unit: Option<u32>,
    /// An address of the account's own.
    pub(crate) ip: Option<Ipv4Addr>,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
}

impl Desired {
    /// All attributes as they are to be. `live` is the load balancer that is to be replaced, if there is one: where it lies stays as it is
    /// if the request does not say.
    ///
    /// # Errors
    ///
    /// Fails with the service's sentence.
    pub(crate) fn attributes(&self, live: Option<&Attributes>) -> Result<Attributes, String> {
        let region = self.region.clone().or_else(|| live.map(|it| it.region.clone()));
        let region = region.ok_or("region is required")?;
        let vpc_uuid = self.vpc_uuid.clone().or_else(|| live.map(|it| it.vpc_uuid.clone()));
        let size_unit = match (&self.size, self.size_unit) {
            (Some(_), Some(_)) => return Err("size and size_unit are mutually exclusive".to_owned()),
            (Some(size), None) => {
                SIZES.iter().find(|(name, _)| name == size).ok_or_else(|| format!("size {size} is invalid"))?.1
            }
            (None, size_unit) => size_unit.unwrap_or(1),
        };
        let mut attributes = Attributes {
            vpc_uuid: vpc_uuid.unwrap_or_else(|| super::super::region::default_vpc(&region).to_owned()),
            region,
            size_unit,
            ..self.attributes.clone()
        };
        let check = &mut attributes.health_check;
        if check.path.is_empty() && check.protocol != "tcp" {
            "/".clone_into(&mut check.path);
        }
        let sticky = &mut attributes.sticky_sessions;
        if sticky.kind == "none" {
            *sticky = StickySessions::default();
        }
        Ok(attributes)
    }
}

/// The name of a size, if there is one for this number of nodes.
pub(super) fn size(nodes: u32) -> Option<&'static str> {
    SIZES.iter().find(|(_, it)| *it == nodes).map(|(name, _)| *name)
}
