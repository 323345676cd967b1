//! Names of what is made for a Service, as the vendor's controller gives them: each finds what the other made.

use std::fmt::Write as _;

use aerostat_sdk::{IpFamily, LoadBalancer, Protocol};
use md5::{Digest as _, Md5};

/// The tag of public addresses with the Services that have them, as `namespace/name`, with commas.
pub(crate) const SERVICE_TAG: &str = "k8s-azure-service";
/// The tag of public addresses with the cluster's name.
pub(crate) const CLUSTER_TAG: &str = "k8s-azure-cluster-name";
/// The tag of public addresses with the Service that has given them their DNS label.
pub(crate) const DNS_TAG: &str = "k8s-azure-dns-label-service";
/// The tag of Private Link services with their Service.
pub(crate) const LINK_TAG: &str = "k8s-azure-owner-service";
/// This provider's own mark, beside the vendor's.
pub(crate) const MARK_TAG: &str = "aerostat-owner";
/// The tags of public addresses that say whose they are.
pub(crate) const OWN_TAGS: [&str; 4] = [SERVICE_TAG, CLUSTER_TAG, DNS_TAG, MARK_TAG];
/// The probe that Services share.
pub(crate) const SHARED_PROBE: &str = "cluster-service-shared-health-probe";
/// The beginning of security rules that let clients in.
pub(crate) const ALLOW: &str = "k8s-azure-lb_allow_";
/// The beginning of security rules that keep others out.
pub(crate) const DENY: &str = "k8s-azure-lb_deny-all_";

/// The most characters of a name before its family.
const MOST: usize = 75;

/// The word of a family in names.
pub(crate) fn family_word(family: IpFamily) -> &'static str {
    match family {
        IpFamily::Ipv4 => "IPv4",
        IpFamily::Ipv6 => "IPv6",
    }
}

/// Names of one Service.
#[derive(Clone, Debug)]
pub(crate) struct AzureNames {
    /// "a" and 31 digits of the UID.
    pub(crate) base: String,
    /// The base, and the subnet that an annotation names.
    prefix: String,
}

impl AzureNames {
    /// Those of a Service, whose annotation may name a subnet.
    pub(crate) fn of(service: &LoadBalancer, subnet: Option<&str>) -> Self {
        let base = service.name.clone();
        let prefix = subnet.map_or_else(|| base.clone(), |it| format!("{base}-{it}"));
        Self { base, prefix }
    }

    /// A frontend. `is_second`: of the second family of a Service that has two.
    pub(crate) fn frontend(&self, is_second: bool) -> String {
        let mut name: String = self.prefix.chars().take(MOST).collect();
        let ends_well = name.ends_with(|it: char| it.is_ascii_alphanumeric() || it == '_');
        if !ends_well {
            name.pop();
            name.push('_');
        }
        with_family(name, is_second)
    }

    /// A rule, or the probe for it.
    pub(crate) fn rule(&self, protocol: Protocol, port: u16, is_second: bool) -> String {
        let end = format!("-{}-{port}", protocol.as_str());
        let kept: String = self.prefix.chars().take(MOST - end.len()).collect();
        with_family(format!("{kept}{end}"), is_second)
    }

    /// A public address that is made for it.
    pub(crate) fn public(&self, cluster: &str, prefix: Option<&str>, is_second: bool) -> String {
        let mut name = format!("{cluster}-{}", self.base);
        if let Some(prefix) = prefix {
            let _ = write!(name, "-{}", crate::id::last_of(prefix));
        }
        with_family(name.chars().take(MOST).collect(), is_second)
    }
}

fn with_family(name: String, is_second: bool) -> String {
    if is_second { format!("{name}-IPv6") } else { name }
}

/// Whether something is called as a part of the Service with this base: the whole base, and what follows a dash.
pub(crate) fn is_of(base: &str, name: &str) -> bool {
    let head = name.get(..base.len()).is_some_and(|it| it.eq_ignore_ascii_case(base));
    head && matches!(name.as_bytes().get(base.len()), None | Some(b'-'))
}

/// Whether a public address is called as one that is made for the Service with this base.
pub(crate) fn is_public_of(cluster: &str, base: &str, name: &str) -> bool {
    let head = name.get(..cluster.len()).is_some_and(|it| it.eq_ignore_ascii_case(cluster));
    head && name[cluster.len()..].strip_prefix('-').is_some_and(|it| is_of(base, it))
}

/// The base of the names of the Service with this UID.
pub(crate) fn base_of(uid: &str) -> String {
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}

/// The base of a Service's names in the name of something: behind the cluster's name and a dash, or, without a cluster, at the
/// beginning.
pub(crate) fn base_in<'n>(cluster: &str, name: &'n str) -> Option<&'n str> {
    let rest = match cluster {
        "" => name,
        cluster => name
            .get(cluster.len()..)
            .filter(|_| name[..cluster.len()].eq_ignore_ascii_case(cluster))?
            .strip_prefix('-')?,
    };
    let base = rest.get(..32)?;
    let is_base = base.starts_with('a') && base.as_bytes()[1..].iter().all(u8::is_ascii_hexdigit);
    (is_base && is_of(base, rest)).then_some(base)
}

/// A pool: the cluster's, or of a Service that has its own.
pub(crate) fn pool(name: &str, family: IpFamily) -> String {
    match family {
        IpFamily::Ipv4 => name.to_owned(),
        IpFamily::Ipv6 => format!("{name}-IPv6"),
    }
}

/// A security rule that lets clients in: all Services with the same protocol, sources and ports share it. Sources and ports are
/// sorted.
pub(crate) fn allow_rule(family: IpFamily, protocol: &str, sources: &[String], ports: &[String]) -> String {
    let text = format!("{protocol}_{}_{}", sources.join(","), ports.join(","));
    let mut digits = String::new();
    for byte in Md5::digest(text) {
        let _ = write!(digits, "{byte:02x}");
    }
    format!("{ALLOW}{}_{digits}", family_word(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_rules_are_called_as_recorded() {
        let rule = |protocol, sources: &[&str], ports: &[&str]| {
            let owned = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
            allow_rule(IpFamily::Ipv4, protocol, &owned(sources), &owned(ports))
        };
        assert_eq!(rule("Tcp", &["Internet"], &["80"]), "k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77");
        assert_eq!(
            rule("Tcp", &["Internet"], &["443", "80"]),
            "k8s-azure-lb_allow_IPv4_556f7044ec033071ec0dfcf7cd85bc93"
        );
        assert_eq!(rule("Udp", &["Internet"], &["53"]), "k8s-azure-lb_allow_IPv4_eacf5e21d4ad7b5345009ad51af9d388");
        let ranges = ["10.0.0.0/8", "192.168.0.0/16"];
        assert_eq!(rule("Tcp", &ranges, &["80"]), "k8s-azure-lb_allow_IPv4_560c32fa479c77f01b07c6ae4db2b777");
        assert_eq!(
            rule("Tcp", &["AzureFrontDoor.Backend"], &["80"]),
            "k8s-azure-lb_allow_IPv4_465c9cd4f09e4be21ec7e39f3ae2c518"
        );
    }

    #[test]
    fn names_are_compared_whole() {
        let base = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";
        assert!(is_of(base, base) && is_of(base, &format!("{base}-TCP-80")) && is_of(base, &base.to_uppercase()));
        assert!(!is_of(base, &format!("{base}1")) && !is_of(base, "a0e2") && !is_of("a0e2", base));
        assert!(is_public_of("c", base, &format!("c-{base}-IPv6")) && !is_public_of("c", base, &format!("cc-{base}")));
    }

    #[test]
    fn long_names_are_cut() {
        let service = LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11");
        let names = AzureNames::of(&service, Some(&format!("{}-x", "s".repeat(41))));
        assert_eq!(names.frontend(true).len(), 75 + 5);
        assert!(names.frontend(false).ends_with("s_"), "{}", names.frontend(false));
        assert!(names.rule(Protocol::Tcp, 80, false).ends_with("-TCP-80"));
        assert_eq!(
            AzureNames::of(&service, None).public("c", Some("/x/p1"), true),
            format!("c-{}-p1-IPv6", service.name)
        );
    }
}
