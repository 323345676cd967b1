//! Provider ids: `<region>.<instance>`, and what is no instance of ECS.

use aerostat_sdk::{Error, Node, Result};

/// The beginning of provider ids: none. Nodes keep theirs for as long as they exist: it must not change.
pub(crate) const BARE: &str = "";
/// The beginning of older provider ids.
pub(crate) const LEGACY: &str = "alicloud://";
/// The beginning of the provider ids of machines outside of the cloud.
pub(crate) const HYBRID: &str = "ack-hybrid://";
/// The labels, with any value, of nodes that neither load balancers nor routes lead to.
pub(crate) const EXCLUDED: [&str; 2] =
    ["service.alibabacloud.com/exclude-node", "service.beta.kubernetes.io/exclude-node"];
/// The same for load balancers alone, before Kubernetes had a label for that.
pub(crate) const WITHOUT_TRAFFIC: &str = "alpha.service-controller.kubernetes.io/exclude-balancer";
/// The label of nodes that are machines of LingJun.
pub(crate) const LINGJUN_LABEL: &str = "alibabacloud.com/lingjun-worker";

/// The beginning of the id of an instance.
const INSTANCE: &str = "i-";

/// The machine that a provider id names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum AliMachine<'a> {
    /// An instance of ECS, by its whole id.
    Instance(&'a str),
    /// A machine outside of the cloud, of which nothing can be said.
    Hybrid(&'a str),
    /// A bare id of a machine of LingJun: its node's label has to say so.
    LingJun(&'a str),
}

impl<'a> AliMachine<'a> {
    /// Reads `cn-hangzhou.i-bp1abc`, the same after `alicloud://`, `ack-hybrid://…`, or the bare id of a machine of LingJun.
    ///
    /// # Errors
    ///
    /// `invalid`, if it is of another cloud or region, or nothing of these.
    pub(crate) fn parse(provider_id: &'a str, region: &str) -> Result<Self> {
        let is_word = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
        if provider_id.strip_prefix(HYBRID).is_some_and(|it| !it.is_empty()) {
            return Ok(Self::Hybrid(provider_id));
        }
        let is_legacy = provider_id.starts_with(LEGACY);
        let rest = provider_id.strip_prefix(LEGACY).unwrap_or(provider_id);
        match rest.split_once('.') {
            Some((named, id)) if id.strip_prefix(INSTANCE).is_some_and(is_word) && is_word(named) => {
                if named == region {
                    return Ok(Self::Instance(id));
                }
                Err(Error::invalid(format_args!(
                    "provider id {provider_id:?} names region {named:?}, and the cluster's is {region}: the instance is not looked for"
                )))
            }
            None if !is_legacy && is_word(rest) && !rest.starts_with(INSTANCE) => Ok(Self::LingJun(rest)),
            _ => Err(Error::invalid(format_args!(
                "provider id {provider_id:?} is not a region, a dot and the id of an instance such as {region}.i-bp1abc"
            ))),
        }
    }

    /// One spelling for all of the same machine.
    pub(crate) fn canonical(&self, region: &str) -> String {
        match self {
            Self::Instance(id) => provider_id(region, id),
            Self::Hybrid(id) | Self::LingJun(id) => (*id).to_owned(),
        }
    }
}

/// Whether a node says that it is a machine of LingJun.
pub(crate) fn is_lingjun(node: &Node) -> bool {
    node.labels.iter().any(|(key, value)| key == LINGJUN_LABEL && value == "true")
}

/// Whether a node says that neither load balancers nor routes lead to it.
pub(crate) fn is_excluded(node: &Node) -> bool {
    node.labels.iter().any(|(key, _)| EXCLUDED.contains(&key.as_str()))
}

/// Whether a node says that it takes no traffic from load balancers.
pub(crate) fn takes_no_traffic(node: &Node) -> bool {
    is_excluded(node) || node.labels.iter().any(|(key, _)| key == WITHOUT_TRAFFIC)
}

/// The provider id of an instance, as the vendor's controller writes it.
pub(crate) fn provider_id(region: &str, id: &str) -> String {
    format!("{region}.{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_names_one_machine() {
        for text in ["cn-hangzhou.i-bp1", "alicloud://cn-hangzhou.i-bp1"] {
            let machine = AliMachine::parse(text, "cn-hangzhou").unwrap();
            assert_eq!(machine, AliMachine::Instance("i-bp1"), "{text}");
            assert_eq!(machine.canonical("cn-hangzhou"), "cn-hangzhou.i-bp1");
        }
        for text in ["ack-hybrid://x.y/z", "e01-cn-abc1234"] {
            assert_eq!(AliMachine::parse(text, "cn-hangzhou").unwrap().canonical("cn-hangzhou"), text);
        }
    }

    #[test]
    fn provider_ids_of_others_are_refused() {
        for text in [
            "",
            "aws:///z/i-1",
            "alicloud://",
            "alicloud://i-bp1",
            "alicloud://e01-cn-abc",
            "ack-hybrid://",
            "i-bp1",
            "cn-hangzhou.",
            "cn-hangzhou.i-",
            "cn-hangzhou.i-1.x",
            "cn-hangzhou.x-1",
            ".i-1",
            "cn-hangzhou.i-1\"]",
            "cn hangzhou.i-1",
        ] {
            let refused = AliMachine::parse(text, "cn-hangzhou").unwrap_err();
            assert!(
                matches!(&refused, Error::Invalid(why) if why.contains(&format!("{text:?}"))),
                "{text} {refused:?}"
            );
        }
        let refused = AliMachine::parse("cn-beijing.i-1", "cn-hangzhou").unwrap_err();
        assert!(refused.why().contains("names region \"cn-beijing\""), "{refused:?}");
    }
}
