//! The objects that load balancers of a cluster are made of, as they are.

use std::cell::OnceCell;

use aerostat_sdk::{Error, IpFamily, Mark, Method, Result, SortedMap, log};
use serde_json::Value;

use super::names::{CLUSTER_TAG, MARK_TAG};
use super::scope::CallScope;
use super::tree::parts;
use crate::api::AzureApi;
use crate::api::fields::{items, tag, text, word, words};
use crate::api::lists;
use crate::id::same;
use crate::settings::balancers::AzureBalancerSettings;

/// The tag of load balancers with the UID of the cluster that has made them.
pub(crate) const BALANCER_MARK: &str = "aerostat-cluster";

/// Everything that was read.
pub(crate) struct BalancerCloud {
    /// Load balancers that were read by their names in lower case; `None` for one that is not there.
    pub(crate) balancers: SortedMap<String, Option<Value>>,
    /// Public addresses of all groups that matter.
    pub(crate) publics: Vec<Value>,
    pub(crate) security: Option<Value>,
    /// Groups that Services name and that cannot be read, each with the reason.
    unread: Vec<(String, Error)>,
    zones: OnceCell<Result<Vec<String>>>,
}

impl BalancerCloud {
    /// Reads what a call is about: load balancers by name, public addresses of groups, and the security group. A load balancer is not
    /// there only if the API says so of it: lists say so of everything for some seconds. Groups beside the cluster's are those that
    /// Services name: one that cannot be read costs no other Service its turn.
    ///
    /// # Errors
    ///
    /// Whatever the API answered; `invalid`, if another cluster with this one's name is there.
    pub(crate) fn read(settings: &AzureBalancerSettings, scope: &CallScope) -> Result<Self> {
        let CallScope { balancers, groups, addresses } = scope;
        let (mut publics, mut unread) = (Vec::new(), Vec::new());
        for group in groups {
            let list = settings.account.network(group, &["publicIPAddresses"]);
            match lists::all(AzureApi::Network, &list, &[]) {
                Ok(shown) => publics.extend(shown),
                Err(error) if same(group, &settings.account.group) => return Err(error),
                Err(error) => unread.push((group.clone(), error)),
            }
        }
        let security =
            settings.security_group.as_ref().map(|it| AzureApi::Network.get(it).find()).transpose()?.flatten();
        let mut cloud = Self { balancers: SortedMap::new(), publics, security, unread, zones: OnceCell::new() };
        cloud.read_balancers(settings, balancers)?;
        // An address that nothing has which was read may be another Service's: its author may have written it into an annotation.
        if addresses.iter().any(|it| !cloud.has_address(it)) {
            cloud.read_balancers(settings, &settings.all_balancer_names())?;
        }
        cloud.check_cluster(settings)?;
        Ok(cloud)
    }

    /// Reads those of these load balancers that were not read yet.
    fn read_balancers<'n>(
        &mut self,
        settings: &AzureBalancerSettings,
        names: impl IntoIterator<Item = &'n String>,
    ) -> Result<()> {
        for name in names {
            let key = name.to_ascii_lowercase();
            if self.balancers.get(&key).is_none() {
                let shown: Option<Value> = AzureApi::Network.get(&settings.balancer_id(name)).find()?;
                self.balancers.insert(key, shown);
            }
        }
        Ok(())
    }

    /// Whether a public address or a frontend has this address.
    fn has_address(&self, ip: &str) -> bool {
        let mut frontends = self.balancers.values().flatten().flat_map(|it| parts(it, "frontendIPConfigurations"));
        self.publics.iter().any(|it| text(it, "/properties/ipAddress") == ip)
            || frontends.any(|it| text(it, "/properties/privateIPAddress") == ip)
    }

    /// Refuses to go on where another cluster has made things under this one's name.
    fn check_cluster(&self, settings: &AzureBalancerSettings) -> Result<()> {
        let other_mark = |entry: &Value| {
            let named = tag(entry, CLUSTER_TAG).is_some_and(|entry| same(entry, &settings.cluster));
            let mark = tag(entry, MARK_TAG)?.parse::<Mark>().ok()?;
            (named && mark.cluster != settings.cluster_uid).then(|| format!("public address {}", text(entry, "/name")))
        };
        let other_balancer = |entry: &Value| {
            let mark = tag(entry, BALANCER_MARK)?;
            (mark != settings.cluster_uid).then(|| format!("load balancer {}", text(entry, "/name")))
        };
        let found = self.publics.iter().find_map(other_mark);
        let found = found.or_else(|| self.balancers.values().flatten().find_map(other_balancer));
        match found {
            Some(what) => Err(Error::invalid(format_args!(
                "{what} was made for another cluster that is called {}, too: give one of them another --cluster-name, or another resource \
                 group",
                settings.cluster
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a Service whose public addresses are in a group that cannot be read.
    ///
    /// # Errors
    ///
    /// Whatever the API, or the operator's rules, answered about it.
    pub(crate) fn check_read(&self, group: &str) -> Result<()> {
        self.unread.iter().find(|(it, _)| same(it, group)).map_or(Ok(()), |(_, error)| Err(error.clone()))
    }

    /// A load balancer by its name.
    pub(crate) fn balancer(&self, name: &str) -> Option<&Value> {
        self.balancers.get(&name.to_ascii_lowercase()).and_then(Option::as_ref)
    }

    /// Puts a load balancer there, as a write or another read has shown it.
    pub(crate) fn set_balancer(&mut self, name: &str, shown: Option<Value>) {
        self.balancers.insert(name.to_ascii_lowercase(), shown);
    }

    /// A public address by its id.
    pub(crate) fn public(&self, id: &str) -> Option<&Value> {
        self.publics.iter().find(|it| same(text(it, "/id"), id))
    }

    /// Puts a public address there, as a write or another read has shown it.
    pub(crate) fn set_public(&mut self, shown: Value) {
        self.forget_public(text(&shown, "/id"));
        self.publics.push(shown);
    }

    /// A public address is gone.
    pub(crate) fn forget_public(&mut self, id: &str) {
        self.publics.retain(|it| !same(text(it, "/id"), id));
    }

    /// The frontends of a load balancer that have this public address.
    pub(crate) fn frontend_of<'v>(&'v self, balancer: &str, public: &str) -> Option<&'v Value> {
        let frontends = self.balancer(balancer).map(|it| parts(it, "frontendIPConfigurations")).unwrap_or_default();
        frontends.iter().find(|it| same(text(it, "/properties/publicIPAddress/id"), public))
    }

    /// Whether any load balancer has a frontend with this public address.
    pub(crate) fn is_used(&self, public: &str) -> bool {
        self.balancers.iter().any(|(name, _)| self.frontend_of(name, public).is_some())
    }

    /// The zones of the region: setting `zones`, or what the API says.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(crate) fn zones(&self, settings: &AzureBalancerSettings) -> Result<Vec<String>> {
        self.zones.get_or_init(|| settings.zones.clone().map_or_else(|| zones(settings), Ok)).clone()
    }

    /// The address of a frontend of a load balancer.
    pub(crate) fn address(&self, balancer: &str, frontend: &str) -> Option<String> {
        let shown = super::tree::part(self.balancer(balancer)?, "frontendIPConfigurations", frontend)?;
        if let Some(ip) = word(shown, "/properties/privateIPAddress") {
            return Some(ip.to_owned());
        }
        let public = self.public(word(shown, "/properties/publicIPAddress/id")?)?;
        word(public, "/properties/ipAddress").map(str::to_owned)
    }
}

/// Refuses to serve anybody whom clients could not reach: the security group is not there.
///
/// # Errors
///
/// `invalid`, naming it.
pub(crate) fn check_group(settings: &AzureBalancerSettings, cloud: &BalancerCloud) -> Result<()> {
    match &settings.security_group {
        Some(id) if cloud.security.is_none() => Err(Error::invalid(format_args!(
            "there is no network security group {} in resource group {}: correct settings securityGroupName and \
             securityGroupResourceGroup",
            id.name(),
            id.group
        ))),
        _ => Ok(()),
    }
}

/// The zones in which the region has machines; none where the credential may not ask for them.
fn zones(settings: &AzureBalancerSettings) -> Result<Vec<String>> {
    let path = ["subscriptions", &settings.account.subscription, "providers", "Microsoft.Compute"];
    let shown: Value = match AzureApi::Compute.at(Method::Get, path.map(str::to_owned).into()).send() {
        Ok(response) => response.json()?,
        // A role at a group reaches no further.
        Err(Error::Denied(why)) => {
            let told = format!(
                "the zones of the region cannot be asked for, and new addresses are in none: say them in setting zones: {why}"
            );
            log::warn(&told, &[]);
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let machines = items(&shown, "/resourceTypes").iter().find(|it| same(text(it, "/resourceType"), "virtualMachines"));
    let mappings = machines.map(|it| items(it, "/zoneMappings")).unwrap_or_default();
    let is_here =
        |it: &&Value| text(it, "/location").to_ascii_lowercase().replace(' ', "") == settings.account.location;
    let mut zones: Vec<String> =
        mappings.iter().find(is_here).into_iter().flat_map(|it| words(it, "/zones")).map(str::to_owned).collect();
    zones.sort_unstable();
    Ok(zones)
}

/// The family of an address.
pub(crate) fn family_of(address: &str) -> IpFamily {
    if address.contains(':') { IpFamily::Ipv6 } else { IpFamily::Ipv4 }
}
