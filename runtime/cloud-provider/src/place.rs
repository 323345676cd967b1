/// Where an instance is, as far as its provider id says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Place<'a> {
    /// The account: a project, a subscription.
    pub account: Option<&'a str>,
    /// The region.
    pub region: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// The place that a provider id names, in the forms that clouds' own controllers write. An unknown form names nothing.
    #[must_use]
    pub fn of(provider_id: &'a str) -> Self {
        let told = |text: &'a str| Some(text).filter(|it| !it.is_empty());
        let Some((cloud, rest)) = provider_id.split_once("://") else {
            // Alibaba writes no scheme: `cn-hangzhou.i-1`.
            return match provider_id.split_once(".i-") {
                Some((region, _)) => Self { region: told(region), ..Self::default() },
                None => Self::default(),
            };
        };
        let mut parts = rest.split('/');
        match cloud {
            "gce" => {
                let (account, zone) = (parts.next().and_then(told), parts.next().and_then(told));
                Self { account, region: zone.and_then(|it| it.rsplit_once('-')).map(|(region, _)| region) }
            }
            "azure" => {
                let subscription = parts.skip_while(|it| !it.eq_ignore_ascii_case("subscriptions")).nth(1);
                Self { account: subscription.and_then(told), region: None }
            }
            "openstack" => {
                let region = parts.next().filter(|_| rest.contains('/')).and_then(told);
                Self { account: None, region }
            }
            "ibm" => Self { account: parts.next().filter(|_| rest.contains('/')).and_then(told), region: None },
            "alicloud" => Self { account: None, region: rest.split_once('.').and_then(|(region, _)| told(region)) },
            // Zones of `aws` do not tell their region for sure; numbers of `digitalocean` and `hcloud` tell nothing.
            _ => Self::default(),
        }
    }

    /// The contradiction between an instance of this place and the account that `identity` tells: a sentence without a subject.
    ///
    /// An identity tells an account or a region in words like `account=my-project region=europe-west1`. What it does not
    /// tell is not compared.
    #[must_use]
    pub fn contradiction(&self, identity: &str) -> Option<String> {
        let told =
            |key: &str| identity.split_whitespace().find_map(|it| it.split_once('=').filter(|(it, _)| *it == key));
        let facts = [("account", self.account), ("region", self.region)];
        facts.into_iter().find_map(|(what, fact)| {
            let ((_, own), fact) = (told(what)?, fact?);
            (!own.eq_ignore_ascii_case(fact))
                .then(|| format!("names the {what} {fact:?}, and the credential's is {own:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adv_111_provider_ids_tell_account_and_region() {
        for (provider_id, account, region) in [
            ("aws:///us-east-1a/i-0abc", None, None),
            ("gce://my-project/europe-west1-b/n1", Some("my-project"), Some("europe-west1")),
            (
                "azure:///subscriptions/1234-ab/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/n1",
                Some("1234-ab"),
                None,
            ),
            ("azure:///Subscriptions/1234-ab/resourcegroups/rg", Some("1234-ab"), None),
            ("openstack://RegionOne/0f0e", None, Some("RegionOne")),
            ("openstack:///0f0e", None, None),
            ("openstack://0f0e", None, None),
            ("digitalocean://12345", None, None),
            ("hcloud://12345", None, None),
            ("hcloud://bm-12345", None, None),
            ("hrobot://12345", None, None),
            ("ibm://a1b2///cluster/worker", Some("a1b2"), None),
            ("cn-hangzhou.i-bp1abc", None, Some("cn-hangzhou")),
            ("alicloud://cn-hangzhou.i-bp1abc", None, Some("cn-hangzhou")),
            ("i-0abc", None, None),
            ("gce://", None, None),
            ("", None, None),
        ] {
            assert_eq!(Place::of(provider_id), Place { account, region }, "{provider_id}");
        }
    }

    #[test]
    fn adv_111_another_account_or_region_is_told_by_the_provider_id() {
        let check = |provider_id: &str, identity: &str| Place::of(provider_id).contradiction(identity);
        let id = "gce://my-project/europe-west1-b/n1";
        assert_eq!(check(id, "account=my-project region=europe-west1"), None);
        assert_eq!(check(id, "account=My-Project"), None);
        assert!(check(id, "account=other").is_some_and(|it| it.contains("\"my-project\"") && it.contains("\"other\"")));
        assert!(check(id, "account=my-project region=us-east1").is_some());
        for silent in ["", "my-other-project", "5df3e3004a17e242b7c20ca6c9fc25b701a47ece", "project=other"] {
            assert_eq!(check(id, silent), None, "{silent:?} tells nothing to compare");
        }
        assert_eq!(check("digitalocean://1", "account=other region=nyc3"), None);
    }
}
