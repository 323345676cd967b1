//! Provider ids of machines: `ibm://<account>///<cluster>/<id>`. Between the slashes older ones have a kind and a region.

use aerostat_sdk::{Error, Result};

use crate::settings::{self, IbmAccountSettings};

/// The beginning of provider ids. Nodes keep theirs for as long as they exist: it must not change.
pub(crate) const PREFIX: &str = "ibm://";
/// The beginning of the first ones that Cluster API wrote: `ibmvpc://<cluster>/<name>`.
pub(crate) const OLDER: &str = "ibmvpc://";

/// A machine by what its provider id says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum IbmMachineId {
    /// An instance of the VPC.
    Instance(String),
    /// A worker of IBM's Kubernetes service. Its machine is in IBM's own account, where nobody can look.
    Worker(String),
    /// An instance by its name, which can be changed.
    Named(String),
}

impl IbmMachineId {
    /// The machine of a provider id.
    ///
    /// # Errors
    ///
    /// `invalid`, if it is of another cloud or another account, or no machine has such an id.
    pub(crate) fn parse(provider_id: &str, settings: &IbmAccountSettings) -> Result<Self> {
        if let Some(rest) = provider_id.strip_prefix(OLDER) {
            let name =
                rest.split_once('/').filter(|(cluster, _)| !cluster.is_empty()).and_then(|(_, it)| settings::id(it));
            return name.map(Self::Named).ok_or_else(|| no_machine(provider_id));
        }
        let rest = provider_id.strip_prefix(PREFIX).ok_or_else(|| no_machine(provider_id))?;
        let parts: Vec<&str> = rest.split('/').collect();
        let [account, kind, region, cluster, id] = parts[..] else { return Err(no_machine(provider_id)) };
        let are_words = [kind, region].iter().all(|it| it.is_empty() || settings::id(it).is_some());
        let (true, Some(_), Some(id)) = (are_words, settings::id(cluster), settings::id(id)) else {
            return Err(no_machine(provider_id));
        };
        if account != settings.account {
            return Err(Error::invalid(format_args!(
                "provider id {provider_id:?} is of account {account:?}, and setting accountID says {}",
                settings.account
            )));
        }
        Ok(if is_worker(&id) { Self::Worker(id) } else { Self::Instance(id) })
    }

    /// The provider id as the vendor's controller writes it.
    pub(crate) fn provider_id(&self, settings: &IbmAccountSettings) -> String {
        let IbmAccountSettings { account, cluster, .. } = settings;
        match self {
            Self::Instance(id) | Self::Worker(id) => format!("{PREFIX}{account}///{cluster}/{id}"),
            Self::Named(name) => format!("{OLDER}{cluster}/{name}"),
        }
    }
}

/// Whether an id is one of IBM's Kubernetes service.
pub(crate) fn is_worker(id: &str) -> bool {
    id.starts_with("kube-")
}

fn no_machine(provider_id: &str) -> Error {
    Error::invalid(format_args!(
        "provider id {provider_id:?} is not {PREFIX}, the account, three slashes, the cluster and the id of a machine such as \
         {PREFIX}account///cluster/0717_e21b7391-2ca2-4ab5-84a8-b92157a633b0"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> IbmAccountSettings {
        let text = |it: &str| it.to_owned();
        IbmAccountSettings {
            account: text("acc"),
            cluster: text("c1"),
            region: text("us-south"),
            vpc: Some(text("r006-1")),
        }
    }

    #[test]
    fn ibm_005_all_spellings_are_one_machine() {
        let canonical = |id: &str| IbmMachineId::parse(id, &settings()).unwrap().provider_id(&settings());
        for (id, expected) in [
            ("ibm://acc///c1/0717_a", "ibm://acc///c1/0717_a"),
            ("ibm://acc/g2/us-south/c1/0717_a", "ibm://acc///c1/0717_a"),
            ("ibm://acc///other/0717_a", "ibm://acc///c1/0717_a"),
            ("ibm://acc///c1/kube-c1-w2", "ibm://acc///c1/kube-c1-w2"),
            ("ibmvpc://c1/node-1", "ibmvpc://c1/node-1"),
        ] {
            assert_eq!(canonical(id), expected);
        }
        assert_eq!(
            IbmMachineId::parse("ibm://acc///c1/kube-c1-w2", &settings()),
            Ok(IbmMachineId::Worker("kube-c1-w2".into()))
        );
    }

    #[test]
    fn ibm_005_ids_of_others_are_refused() {
        for id in [
            "",
            "aws:///z/i-1",
            "ibm://",
            "ibm://acc",
            "ibm://acc///c1/",
            "ibm://acc//c1/0717_a",
            "ibm://acc////0717_a",
            "ibm://acc///c1/0717_a/b",
            "ibm://acc///c1/..",
            "ibm://acc/../us/c1/0717_a",
            "ibm://acc///c1/0717 a",
            "ibmvpc://node-1",
            "ibmvpc:///node-1",
            "ibmvpc://c1/a/b",
            "ibmpowervs://us/z/s/i",
        ] {
            let refused = IbmMachineId::parse(id, &settings()).unwrap_err();
            assert!(matches!(&refused, Error::Invalid(why) if why.contains(&format!("{id:?}"))), "{id} {refused:?}");
        }
        let other = IbmMachineId::parse("ibm://other///c1/0717_a", &settings()).unwrap_err();
        assert!(matches!(&other, Error::Invalid(why) if why.contains("setting accountID says acc")), "{other:?}");
    }
}
