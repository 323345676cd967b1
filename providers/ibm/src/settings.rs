//! The settings of the provider. They are called as the vendor's controller calls them in its file, where it has them.

pub(crate) mod balancers;
pub(crate) mod routes;

use aerostat_sdk::form::{Custom, OneOf};
use aerostat_sdk::{Error, Result, settings};

/// An account, a cluster, a VPC.
pub(crate) type IbmWord = Custom<String>;

aerostat_sdk::table! {
    /// Those about the account, the cluster and its machines.
    pub(crate) const ACCOUNT;
    ACCOUNT_ID: IbmWord = ("accountID", Custom { allowed: "the id of an account: letters and digits", parse: account },
        "The account of the cluster. The VPC has to be in it.").required();
    CLUSTER_ID: IbmWord = ("clusterID", Custom { allowed: "the id of a cluster: at most 41 letters, digits, dashes and underscores", parse: cluster },
        "The id of the cluster, as provider ids have it. A longer one would cut the Service's UID out of the name by which a load balancer is \
         known. A change makes nodes and load balancers those of another cluster.").required();
    REGION: IbmWord = ("region", Custom::slug("the name of a region such as us-south"),
        "The region of the cluster. The VPC has to be in it.").required();
    VPC_ID: IbmWord = ("vpcID", Custom { allowed: "the id of a VPC such as r006-4727d842-f94f-4a2d-824a-9bc9b02c523b", parse: id },
        "The VPC of the cluster's machines. Needed unless clusterDefaultProvider is classic.");
    PLATFORM: OneOf<IbmPlatform> = ("clusterDefaultProvider", OneOf(&[("g2", IbmPlatform::Vpc), ("classic", IbmPlatform::Classic)]),
        "The infrastructure of the cluster: VPC, or classic, where machines are known by the labels of their nodes alone.")
        .default("g2");
}

/// The infrastructure of a cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum IbmPlatform {
    /// Virtual machines in a VPC.
    Vpc,
    /// The infrastructure of before: no API tells of its machines here.
    Classic,
}

/// Where the cluster's machines are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct IbmAccountSettings {
    pub(crate) account: String,
    pub(crate) cluster: String,
    pub(crate) region: String,
    /// The id of the VPC; `None` on classic infrastructure.
    pub(crate) vpc: Option<String>,
}

impl IbmAccountSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        let vpc = settings::read(&VPC_ID)?;
        let vpc = match (settings::get(&PLATFORM)?, vpc) {
            (IbmPlatform::Vpc, None) => {
                return Err(Error::invalid(format_args!(
                    "setting {} is missing: write it under provider.settings, or {}: classic",
                    VPC_ID.name, PLATFORM.name
                )));
            }
            (IbmPlatform::Vpc, vpc) => vpc,
            (IbmPlatform::Classic, None) => None,
            (IbmPlatform::Classic, Some(_)) => {
                return Err(Error::invalid(format_args!(
                    "setting {} is for VPC infrastructure, and setting {} says classic: take one of them out",
                    VPC_ID.name, PLATFORM.name
                )));
            }
        };
        Ok(Self {
            account: settings::get(&ACCOUNT_ID)?,
            cluster: settings::get(&CLUSTER_ID)?,
            region: settings::get(&REGION)?,
            vpc,
        })
    }
}

/// Whether machines are on classic infrastructure, where nobody is asked.
///
/// # Errors
///
/// `invalid`, for a value that is not allowed.
pub(crate) fn is_classic() -> Result<bool> {
    Ok(settings::get(&PLATFORM)? == IbmPlatform::Classic)
}

/// Refuses settings that cannot work. One that is missing is the host's to refuse: it asks for the description of a module before anything
/// is configured, too.
///
/// # Errors
///
/// As [`IbmAccountSettings::read`].
pub(crate) fn check() -> Result<()> {
    settings::get(&PLATFORM)?;
    settings::read(&ACCOUNT_ID)?.map_or(Ok(()), |_| IbmAccountSettings::read().map(drop))
}

fn account(text: &str) -> Option<String> {
    (!text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric())).then(|| text.to_owned())
}

/// The id of a cluster: it leaves 16 digits of a Service's UID in the names of load balancers.
fn cluster(text: &str) -> Option<String> {
    id(text).filter(|it| it.len() <= 41)
}

/// An id as the API and provider ids take it: one segment of a path.
pub(crate) fn id(text: &str) -> Option<String> {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
    (!text.is_empty() && text.len() <= 64 && text.bytes().all(is_part)).then(|| text.to_owned())
}
