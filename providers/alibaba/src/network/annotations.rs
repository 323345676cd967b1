//! The annotations that only Network Load Balancers have, and the values that others have for them.

use aerostat_sdk::Result;
use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::form::{AnyCase, Custom, Integer, List, OneOf, Text};
use aerostat_sdk::key::Key;

use crate::api::network_listeners::NlbProtocol;
use crate::api::network_load_balancers::NlbZone;
use crate::load_balancer::annotations::{name_of, port, vendor, word};
use crate::load_balancer::unserved;

/// The words for a flag.
const TRUE_FALSE: AnyCase<&str> = AnyCase(OneOf(&[("on", "true"), ("off", "false")]));

aerostat_sdk::table! {
    /// Those that Classic Load Balancers do not have.
    pub(crate) const TABLE;
    ZONES: List<Custom<NlbZone>> = (vendor!("zone-maps"),
        List { of: Custom { allowed: "a zone, a colon and a vSwitch, with an address of the VPC and the id of an elastic address behind further colons", parse: zone },
            what: "zones", example: "cn-hangzhou-b:vsw-1,cn-hangzhou-g:vsw-2" },
        "The zones of a Network Load Balancer, which needs them, and its vSwitch in each. New ones come before others go.");
    CROSS_ZONE: AnyCase<&'static str> = (vendor!("cross-zone-enabled"), TRUE_FALSE, "Whether it sends to nodes in other zones, too.").otherwise("on");
    SECURITY_GROUPS: List<Custom<String>> = (vendor!("security-group-ids"),
        List { of: Custom { allowed: "the id of a security group such as sg-1", parse: group }, what: "ids of security groups", example: "sg-1,sg-2" },
        "Security groups of one's own that say who reaches a Network Load Balancer. Others go; an empty value lets all of them go.")
        .otherwise("as they are");
    CPS: Integer = (vendor!("cps"), Integer::between(0, 1_000_000), "New connections a second of a listener; 0 is no limit.").otherwise("0");
    PRESERVE_CLIENT: AnyCase<&'static str> = (vendor!("preserve-client-ip"), TRUE_FALSE, "Whether nodes see the client's address.").otherwise("on");
    CA: AnyCase<&'static str> = (vendor!("cacert"), TRUE_FALSE, "Whether clients of tcpssl show certificates, too.").otherwise("off");
    CA_CERTIFICATES: List<Custom<String>> = (vendor!("cacert-id"), List { of: Custom { allowed: "the id of a certificate", parse: word }, what: "ids of certificates", example: "c1,c2" },
        "The certificates of the authorities that theirs are from.");
    ALPN: AnyCase<&'static str> = (vendor!("alpn"), TRUE_FALSE, "Whether tcpssl agrees on a protocol.").otherwise("off");
    ALPN_POLICY: AnyCase<&'static str> = (vendor!("alpn-policy"),
        AnyCase(OneOf(&[("HTTP1Only", "HTTP1Only"), ("HTTP2Only", "HTTP2Only"), ("HTTP2Preferred", "HTTP2Preferred"), ("HTTP2Optional", "HTTP2Optional")])),
        "Which one.");
    PORT_RANGE: Text = (vendor!("listener-port-range"), Text("ranges of ports"), "Not served, and refused: a range of ports is sent to pods.");
    BANDWIDTH_PACKAGE: Custom<String> = (vendor!("bandwidth-package-id"), Custom { allowed: "the id of a package such as cbwp-1", parse: package },
        "The bandwidth package that a Network Load Balancer is in. An empty value lets it go.").otherwise("as it is");
    IPV6_ADDRESS_TYPE: AnyCase<&'static str> = (vendor!("ipv6-address-type"),
        AnyCase(OneOf(&[("internet", "EnableLoadBalancerIpv6Internet"), ("intranet", "DisableLoadBalancerIpv6Internet")])),
        "Whether its addresses of IPv6 are reached from the internet, with DualStack.").otherwise("intranet");
    LINK_ENDPOINT: AnyCase<&'static str> = (vendor!("ppv2-pvl-ep-id-enabled"), TRUE_FALSE, "Whether the PROXY protocol tells nodes the endpoint of PrivateLink.").otherwise("off");
    LINK_SERVICE: AnyCase<&'static str> = (vendor!("ppv2-pvl-eps-id-enabled"), TRUE_FALSE, "Whether it tells them the endpoint's service.").otherwise("off");
    LINK_NETWORK: AnyCase<&'static str> = (vendor!("ppv2-pvl-vpc-id-enabled"), TRUE_FALSE, "Whether it tells them the endpoint's VPC.").otherwise("off");
    MORE_CERTIFICATES: List<Custom<String>> = (vendor!("additional-cert-ids"), List { of: Custom { allowed: "the id of a certificate", parse: word }, what: "ids of certificates", example: "c1,c2" },
        "Further certificates of ports with tcpssl. Others go; an empty value lets all of them go.").otherwise("as they are");
    GROUP_TYPE: AnyCase<()> = (vendor!("server-group-type"), AnyCase(OneOf(&[("instance", ())])), "Nodes are sent to by their instances. ip is for pods, and refused.")
        .default("instance");
}

/// Its name.
pub(super) const NAME: Key<Custom<String>> = Key::new(
    vendor!("name"),
    Custom { allowed: "a name of 2 to 128 letters, digits, dashes, slashes, dots and underscores", parse: name },
    "Its name.",
);
/// The protocols of ports.
pub(super) const PROTOCOLS: Key<List<Custom<(NlbProtocol, u16)>>> = Key::new(
    vendor!("protocol-port"),
    List {
        of: Custom { allowed: "a protocol (tcp, udp, tcpssl), a colon and a port", parse: protocol },
        what: "protocols of ports",
        example: "tcpssl:443",
    },
    "The protocols of ports.",
);
/// The certificates of ports with tcpssl.
pub(super) const CERTIFICATES: Key<List<Custom<String>>> = Key::new(
    vendor!("cert-id"),
    List {
        of: Custom { allowed: "the id of a certificate", parse: word },
        what: "ids of certificates",
        example: "c1,c2",
    },
    "The certificates of ports with tcpssl.",
);
/// Refuses what is not served.
///
/// # Errors
///
/// `invalid`, naming the annotation.
pub(super) fn check(annotations: Annotations<'_>) -> Result<()> {
    annotations.read(&GROUP_TYPE)?;
    annotations.read(&BANDWIDTH_PACKAGE)?;
    unserved::refuse(annotations, &[PORT_RANGE.name])
}

fn zone(text: &str) -> Option<NlbZone> {
    let mut parts = text.split(':').map(str::trim);
    let (zone, switch) = (word(parts.next()?)?, crate::settings::dashed_id(parts.next()?, "vsw-")?);
    let some = |it: Option<&str>| it.filter(|it| !it.is_empty()).map(str::to_owned);
    let (address, elastic) = (some(parts.next()), some(parts.next()));
    let is_address = address.as_ref().is_none_or(|it| it.parse::<std::net::Ipv4Addr>().is_ok());
    let is_elastic = elastic.as_ref().is_none_or(|it| crate::settings::dashed_id(it, "eip-").is_some());
    (is_address && is_elastic && parts.next().is_none()).then_some(NlbZone { zone, switch, address, elastic })
}

fn name(text: &str) -> Option<String> {
    name_of(text, 128).filter(|it| it.len() > 1)
}

fn package(text: &str) -> Option<String> {
    crate::settings::dashed_id(text, "cbwp-")
}

fn group(text: &str) -> Option<String> {
    crate::settings::dashed_id(text, "sg-")
}

fn protocol(text: &str) -> Option<(NlbProtocol, u16)> {
    let (word, number) = text.split_once(':')?;
    let protocol = NlbProtocol::ALL.into_iter().find(|it| it.word().eq_ignore_ascii_case(word.trim()))?;
    Some((protocol, port(number)?))
}
