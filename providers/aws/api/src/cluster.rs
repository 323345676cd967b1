//! The cluster, as the settings of each module name it.

#![allow(missing_docs, reason = "each row of the table says itself what it is")]

use aerostat_sdk::form::Custom;
use aerostat_sdk::{Error, Result, settings};

aerostat_sdk::table! {
    /// The settings that say which cluster it is.
    pub const TABLE;
    REGION: Custom<String> = ("region", Custom::slug("the name of a region such as eu-central-1"),
        "The region of the cluster, also as the nodes' label says it.").required();
    VPC: Custom<String> = ("vpc", Custom {
        allowed: "the id of a VPC such as vpc-0123456789abcdef0", parse: |text| resource_id("vpc-", text) },
        "The VPC of the cluster. It is also how another account's credential is noticed.").required();
    CLUSTER_ID: Custom<String> = ("clusterID", Custom { allowed: "the cluster's id in its tags, of 1 to 100 characters",
        parse: |text| (1..=100).contains(&text.len()).then(|| text.to_owned()) },
        "What stands behind `kubernetes.io/cluster/` in the key of the tag that instances, subnets and route tables of the cluster \
         have.").required();
}

/// `text`, if it is an id of EC2 with the beginning that its kind has.
#[must_use]
#[inline]
pub fn resource_id(prefix: &str, text: &str) -> Option<String> {
    let rest = text.strip_prefix(prefix)?;
    let is_id = !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_alphanumeric());
    is_id.then(|| text.to_owned())
}

/// The cluster.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// Its region.
    pub region: String,
    /// The id of its VPC.
    pub vpc: String,
    id: String,
}

impl ClusterSettings {
    /// The key of the older tag, whose value is the cluster's id.
    pub const LEGACY_TAG: &str = "KubernetesCluster";

    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    #[inline]
    pub fn read() -> Result<Self> {
        Ok(Self { region: settings::get(&REGION)?, vpc: settings::get(&VPC)?, id: settings::get(&CLUSTER_ID)? })
    }

    /// The key of its tag.
    #[must_use]
    #[inline]
    pub fn tag(&self) -> String {
        format!("kubernetes.io/cluster/{}", self.id)
    }

    /// Its id in tags.
    #[must_use]
    #[inline]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Refuses a zone of another region than the one in the settings, whose name it begins with: `us-east-1a`, and
    /// `us-west-2-lax-1a` of a local zone. `what` says what is in the zone.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting.
    #[inline]
    pub fn check_zone(&self, what: &str, zone: &str) -> Result<()> {
        let rest = zone.strip_prefix(&*self.region).map(|it| it.strip_prefix('-').unwrap_or(it));
        match rest.and_then(|it| it.chars().next()) {
            Some(first) if first.is_ascii_alphabetic() => Ok(()),
            _ => Err(Error::invalid(format_args!(
                "{what} is in zone {zone}, which is not of region {}: correct setting {}",
                self.region, REGION.name
            ))),
        }
    }

    /// The account, by whom the VPC belongs to: a credential of another account does not see it.
    ///
    /// # Errors
    ///
    /// `denied`, if the credential's account has no such VPC; and what AWS answered.
    #[inline]
    pub fn identity(&self) -> Result<String> {
        let Self { region, vpc, .. } = self;
        let owner = crate::ec2::account(vpc)?.ok_or_else(|| {
            Error::denied(format_args!(
                "the credential's account has no VPC {vpc} in {region}: it is another account, or setting vpc is wrong"
            ))
        })?;
        Ok(format!("account {owner}, region {region}, {vpc}"))
    }
}
