//! Prefixes of provider ids that a module may claim: it is asked about the nodes that have them, and they are deleted on its word.

use anyhow::{Result, bail};
use cloud_provider::Description;

/// Prefixes that are known in Kubernetes, and the names of the providers that they belong to. A prefix that is not here
/// belongs to whoever describes it.
const KNOWN: [(&str, &[&str]); 28] = [
    ("alicloud://", &["alicloud", "alibabacloud"]),
    ("aws://", &["aws"]),
    ("azure://", &["azure"]),
    ("baiducloud://", &["baiducloud"]),
    ("brightbox://", &["brightbox"]),
    ("civo://", &["civo"]),
    ("cloudstack://", &["cloudstack"]),
    ("digitalocean://", &["digitalocean"]),
    ("equinixmetal://", &["equinixmetal"]),
    ("exoscale://", &["exoscale"]),
    ("external-cloudstack://", &["cloudstack"]),
    ("gce://", &["gce", "gcp"]),
    ("hcloud://", &["hcloud", "hetzner"]),
    ("hrobot://", &["hcloud", "hetzner"]),
    ("ibm://", &["ibm", "ibmcloud"]),
    ("k3s://", &["k3s"]),
    ("kind://", &["kind"]),
    ("kubevirt://", &["kubevirt"]),
    ("linode://", &["linode", "akamai"]),
    ("nutanix://", &["nutanix"]),
    ("openstack://", &["openstack"]),
    ("proxmox://", &["proxmox"]),
    ("qcloud://", &["tencentcloud", "qcloud"]),
    ("rancher://", &["rancher"]),
    ("scaleway://", &["scaleway"]),
    ("vsphere://", &["vsphere"]),
    ("vultr://", &["vultr"]),
    ("yandex://", &["yandex"]),
];

/// Refuses a description that claims provider ids which are another provider's, or which the operator has not pinned.
/// `pinned` is `provider.providerIDPrefixes`; empty means that the operator has not said.
pub(crate) fn check(description: &Description, pinned: &[String]) -> Result<()> {
    let name = &description.name;
    for prefix in &description.provider_id_prefixes {
        if pinned.iter().any(|it| is_pinned(prefix, it)) {
            continue;
        }
        if !pinned.is_empty() {
            bail!(
                "the provider {name} claims the provider ids that begin with {prefix}, and provider.providerIDPrefixes \
                 allows only {}; load another module, or add the prefix if these nodes are this provider's",
                pinned.join(", ")
            );
        }
        if let Some((known, owners)) = KNOWN.iter().find(|(known, _)| overlap(prefix, known))
            && !owners.contains(&name.as_str())
        {
            bail!(
                "the provider {name} claims the provider ids that begin with {prefix}, and those that begin with {known} \
                 belong to the provider {}; load another module, or set provider.providerIDPrefixes to [{prefix:?}] if \
                 these nodes are this provider's",
                owners[0]
            );
        }
    }
    Ok(())
}

/// Whether one pinned prefix allows a described one. "" stands for ids without "://", and allows nothing else.
pub(crate) fn is_pinned(described: &str, pinned: &str) -> bool {
    described == pinned || (!pinned.is_empty() && described.starts_with(pinned))
}

/// Whether a provider id can begin with both. All known prefixes have a scheme.
fn overlap(one: &str, known: &str) -> bool {
    !one.is_empty() && (one.starts_with(known) || known.starts_with(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The refusal of a provider that claims these prefixes.
    fn refusal(name: &str, prefixes: &[&str], pinned: &[&str]) -> Option<String> {
        let words = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let description =
            Description { name: name.to_owned(), provider_id_prefixes: words(prefixes), ..Description::default() };
        check(&description, &words(pinned)).err().map(|it| it.to_string())
    }

    #[test]
    fn ones_own_prefix_and_one_that_nobody_knows_are_taken() {
        assert_eq!(refusal("digitalocean", &["digitalocean://"], &[]), None);
        assert_eq!(refusal("hetzner", &["hcloud://", "hrobot://"], &[]), None);
        assert_eq!(refusal("acme", &["acme://", "acme-metal://"], &[]), None);
        assert_eq!(refusal("aws", &["aws:///eu-central-1"], &[]), None);
    }

    #[test]
    fn the_empty_prefix_is_pinned_by_itself_alone() {
        assert_eq!(refusal("alibabacloud", &["alicloud://", ""], &[]), None);
        assert_eq!(refusal("alibabacloud", &["alicloud://", ""], &["alicloud://", ""]), None);
        assert!(refusal("alibabacloud", &["alicloud://", ""], &["alicloud://"]).is_some());
        assert!(refusal("alibabacloud", &["alicloud://"], &[""]).is_some(), "it allows only ids without a scheme");
    }

    #[test]
    fn adv_130_a_prefix_of_another_provider_is_refused() {
        for prefix in ["digitalocean://", "digitalocean://1", "d", "digital"] {
            let text = refusal("acme", &["acme://", prefix], &[]).unwrap();
            for part in ["provider acme", prefix, "digitalocean://", "provider.providerIDPrefixes"] {
                assert!(text.contains(part), "{part:?} is not in {text:?}");
            }
        }
    }

    /// Cases: rancher 9
    #[test]
    fn nodes_of_rancher_are_claimed_by_its_provider_alone() {
        assert_eq!(refusal("rancher", &["rancher://"], &[]), None);
        assert!(refusal("acme", &["acme://", "rancher://"], &[]).unwrap().contains("belong to the provider rancher"));
    }

    #[test]
    fn adv_130_pinned_prefixes_are_all_that_is_taken() {
        assert_eq!(refusal("digitalocean", &["digitalocean://"], &["digitalocean://"]), None);
        assert_eq!(refusal("fork", &["digitalocean://"], &["digitalocean://"]), None, "the operator says so");
        assert_eq!(refusal("aws", &["aws:///eu/"], &["aws://"]), None, "narrower than what is pinned");
        let text = refusal("digitalocean", &["digitalocean://", "aws://"], &["digitalocean://"]).unwrap();
        assert!(text.contains("begin with aws://") && text.contains("allows only digitalocean://"), "{text}");
        assert!(refusal("digitalocean", &["d"], &["digitalocean://"]).is_some(), "wider than what is pinned");
    }
}
