use aerostat_sdk::testing::Host;
use aerostat_sdk::{Error, ExternalTrafficPolicy, LoadBalancer, LoadBalancers, Port, Protocol};

use crate::Aws;
use crate::tests::required;

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const VENDOR: &str = "service.beta.kubernetes.io/aws-load-balancer-";
const CERTIFICATE: &str = "arn:aws:acm:us-east-1:123456789012:certificate/1";

/// The refusal of a Service with one annotation before anything is asked of AWS; `None` if something is asked.
fn refusal(host: &Host, kind: &str, name: &str, value: &str) -> Option<String> {
    let service = LoadBalancer::of("default", "web", UID)
        .with_port(Port::new(Protocol::Tcp, 80, 30_080))
        .with_annotation(format!("{VENDOR}type"), kind)
        .with_annotation(format!("{VENDOR}access-log-enabled"), (name == "access-log-s3-bucket-name").to_string())
        .with_annotation(format!("{VENDOR}{name}"), value);
    let service = LoadBalancer { external_traffic_policy: ExternalTrafficPolicy::Local(31_000), ..service };
    match host.run(|| Aws::ensure(&service)) {
        Err(Error::Invalid(why)) => Some(why),
        _ => None,
    }
}

/// Settings, and no cloud behind them: what is allowed fails later.
fn host(setting: &str, value: &str) -> Host {
    let host = required()
        .setting("loadBalancers.nlbSecurityGroupMode", "Managed")
        .answers(|_| aerostat_sdk::testing::answer(503, ""));
    if setting.is_empty() { host } else { host.setting(setting, value) }
}

/// Annotation, value, setting, and what in the setting allows it.
const NAMED: [(&str, &str, &str, &str); 6] = [
    ("security-groups", "sg-1", "loadBalancers.allowedSecurityGroups", "sg-0,sg-1"),
    ("extra-security-groups", "sg-1", "loadBalancers.allowedSecurityGroups", "*"),
    ("ssl-cert", CERTIFICATE, "loadBalancers.allowedCertificates", "arn:aws:acm:us-east-1:123456789012:certificate/*"),
    ("eip-allocations", "eipalloc-1", "loadBalancers.allowedElasticIPs", "eipalloc-1"),
    ("access-log-s3-bucket-name", "logs", "loadBalancers.allowedLogBuckets", "lo*"),
    ("healthcheck-port", "10250", "loadBalancers.allowedHealthCheckPorts", "10250"),
];

#[test]
fn adv_170_an_author_names_only_what_the_operator_allows() {
    for (annotation, value, setting, allowing) in NAMED {
        for kind in ["nlb", "classic"] {
            // What is of the other kind is refused for another reason, or makes no difference.
            if (kind == "nlb" && annotation == "extra-security-groups")
                || (kind == "classic" && annotation == "eip-allocations")
            {
                continue;
            }
            for other in ["", "none", "x-1", "x*"] {
                if annotation == "healthcheck-port" && other.starts_with('x') {
                    continue;
                }
                let setting_given = if other.is_empty() { "" } else { setting };
                let why = refusal(&host(setting_given, other), kind, annotation, value);
                let why = why.unwrap_or_else(|| panic!("{kind} takes {annotation}: {value} with {other:?}"));
                for part in [annotation, value, "is not for authors of Services to name", setting] {
                    assert!(why.contains(part), "{part:?} is not in {why:?}");
                }
            }
            let why = refusal(&host(setting, allowing), kind, annotation, value);
            assert!(why.as_ref().is_none_or(|it| !it.contains("authors")), "{kind} {annotation}: {why:?}");
        }
    }
}

#[test]
fn adv_170_own_node_ports_may_be_checked() {
    for port in ["traffic-port", "30080", "31000"] {
        assert_eq!(refusal(&host("", ""), "nlb", "healthcheck-port", port), None, "{port}");
    }
    for port in ["22", "80", "10256", "30081"] {
        assert!(refusal(&host("", ""), "nlb", "healthcheck-port", port).is_some(), "{port}");
    }
}

#[test]
fn adv_170_marks_are_no_tags_of_an_author() {
    for tag in [
        "kubernetes.io/cluster/other",
        "KubernetesCluster",
        "aerostat.dev/cluster-uid",
        "aerostat.dev/kept",
        "aerostat.dev/service-uid",
    ] {
        let why = refusal(&host("", ""), "nlb", "additional-resource-tags", &format!("team=a,{tag}=owned"));
        assert!(why.as_ref().is_some_and(|it| it.contains(tag)), "{why:?}");
    }
    assert_eq!(refusal(&host("", ""), "nlb", "additional-resource-tags", "team=a"), None);
}
