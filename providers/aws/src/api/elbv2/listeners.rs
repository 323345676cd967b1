//! Listeners: what clients dial, and which target group gets it.

use super::{TagsByKey, with_pairs};
use crate::api::{AwsRefusal, ELBV2, Element, RequestForm};

/// A listener.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Listener {
    pub(crate) arn: String,
    pub(crate) port: u16,
    /// `TCP`, `UDP`, `TLS`.
    pub(crate) protocol: String,
    /// The policy of TLS: which versions and ciphers are spoken.
    pub(crate) policy: Option<String>,
    /// The ARNs of certificates for TLS, the default first.
    pub(crate) certificates: Vec<String>,
    /// The ARN of the one target group that gets everything; `None` for anything else.
    pub(crate) target_group: Option<String>,
}

/// The fields of a listener that is made or changed. A field that is `None` stays as it is, or is left to AWS.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct ListenerContent<'a> {
    /// `TCP`, `UDP`, `TLS`.
    pub(crate) protocol: Option<&'static str>,
    /// The policy of TLS: which versions and ciphers are spoken.
    pub(crate) policy: Option<&'a str>,
    /// The ARN of the certificate for TLS.
    pub(crate) certificate: Option<&'a str>,
    /// The ARN of the target group.
    pub(crate) target_group: Option<&'a str>,
}

/// The listeners of a load balancer.
pub(crate) fn of(balancer: &str) -> Result<Vec<Listener>, AwsRefusal> {
    super::all(&ELBV2.action("DescribeListeners").with("LoadBalancerArn", balancer), "Listeners", read)
}

/// Makes a listener for this port.
pub(crate) fn create(
    balancer: &str,
    port: u16,
    content: ListenerContent<'_>,
    tags: &TagsByKey,
) -> Result<(), AwsRefusal> {
    let form = ELBV2.action("CreateListener").with("LoadBalancerArn", balancer).with("Port", port);
    ELBV2.call(with_pairs(with_content(form, content), "Tags", tags)).map(drop)
}

/// Changes a listener.
pub(crate) fn modify(arn: &str, content: ListenerContent<'_>) -> Result<(), AwsRefusal> {
    ELBV2.call(with_content(ELBV2.action("ModifyListener").with("ListenerArn", arn), content)).map(drop)
}

/// Deletes a listener. One that is not there is deleted.
pub(crate) fn delete(arn: &str) -> Result<(), AwsRefusal> {
    match ELBV2.call(ELBV2.action("DeleteListener").with("ListenerArn", arn)) {
        Err(refusal) if refusal.code == "ListenerNotFound" => Ok(()),
        answer => answer.map(drop),
    }
}

fn with_content(form: RequestForm, it: ListenerContent<'_>) -> RequestForm {
    form.with_some("Protocol", it.protocol)
        .with_some("SslPolicy", it.policy)
        .with_some("Certificates.member.1.CertificateArn", it.certificate)
        .with_some("DefaultActions.member.1.Type", it.target_group.map(|_| "forward"))
        .with_some("DefaultActions.member.1.TargetGroupArn", it.target_group)
}

fn read(it: &Element) -> Listener {
    let mut actions = it.items("DefaultActions");
    let forward = match (actions.next(), actions.next()) {
        (Some(one), None) if one.text(&["Type"]) == Some("forward") => one.text(&["TargetGroupArn"]),
        _ => None,
    };
    let certificates = it.items("Certificates").filter_map(|it| it.text(&["CertificateArn"]));
    Listener {
        arn: super::text(it, "ListenerArn"),
        port: super::number(it, "Port").unwrap_or_default(),
        protocol: super::text(it, "Protocol"),
        policy: it.text(&["SslPolicy"]).map(str::to_owned),
        certificates: certificates.map(str::to_owned).collect(),
        target_group: forward.map(str::to_owned),
    }
}
