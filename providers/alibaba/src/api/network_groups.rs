//! Groups of the machines that a listener of a Network Load Balancer sends to.

use serde_json::Value;

use super::errors::AcsRefusal;
use super::fields::{borrowed, counted, list, numbered, tags, text};
use super::network_load_balancers::tag_pairs;
use super::product::NLB;

/// Groups, and machines, of a page: the most that the API takes.
pub(crate) const PAGE: u32 = 100;
/// Machines in one request: as many as the vendor's controller sends.
pub(crate) const BATCH: usize = 40;

/// A group, without its machines.
#[derive(Clone, Debug)]
pub(crate) struct NlbGroup {
    pub(crate) id: String,
    pub(crate) name: String,
    /// `Creating`, `Available`, `Configuring` or `Deleting`.
    pub(crate) status: String,
    pub(crate) tags: Vec<(String, String)>,
    shown: Value,
}

/// A machine in a group, at a port.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct NlbServer {
    pub(crate) instance: String,
    pub(crate) port: u16,
    pub(crate) weight: u32,
    pub(crate) description: String,
    /// Whether it is being taken away.
    pub(crate) is_leaving: bool,
}

impl NlbGroup {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            id: Some(text(shown, "ServerGroupId")).filter(|it| !it.is_empty())?,
            name: text(shown, "ServerGroupName"),
            status: text(shown, "ServerGroupStatus"),
            tags: tags(shown),
            shown: shown.clone(),
        })
    }

    /// Whether a listener of this load balancer sends to it.
    pub(crate) fn is_of(&self, balancer: &str) -> bool {
        list(&self.shown, "RelatedLoadBalancerIds").iter().any(|it| *it == *balancer)
    }

    /// The value of a parameter, as requests write it; `None` where it is not shown.
    pub(crate) fn value(&self, parameter: &str) -> Option<String> {
        let mut place = &self.shown;
        for part in parameter.split('.') {
            // Requests say HealthCheckConfig, answers HealthCheck.
            place = match (part, part.parse::<usize>()) {
                ("HealthCheckConfig", _) => &place["HealthCheck"],
                (_, Ok(number)) => &place[number.wrapping_sub(1)],
                _ => &place[part],
            };
        }
        super::fields::word(place)
    }
}

impl NlbServer {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            instance: text(shown, "ServerId"),
            port: shown["Port"].as_u64()?.try_into().ok()?,
            weight: shown["Weight"].as_u64()?.try_into().ok()?,
            description: text(shown, "Description"),
            is_leaving: text(shown, "Status") == "Removing",
        })
    }
}

/// The parameters of requests that name machines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ServerFields {
    /// Which machines.
    Place,
    /// And how they take traffic.
    All,
}

/// The pairs that name machines.
pub(crate) fn server_pairs(servers: &[NlbServer], fields: ServerFields) -> Vec<(String, String)> {
    let server = |server: &NlbServer| {
        let mut pairs = vec![
            ("ServerId", server.instance.clone()),
            ("ServerType", "Ecs".to_owned()),
            ("Port", server.port.to_string()),
        ];
        if fields == ServerFields::All {
            pairs.extend([("Weight", server.weight.to_string()), ("Description", server.description.clone())]);
        }
        pairs
    };
    numbered("Servers", servers.iter().map(server))
}

/// A page of groups with this tag, from a cursor on, and the next one.
pub(crate) fn page(
    region: &str,
    tag: (&str, &str),
    cursor: Option<&str>,
    size: u32,
) -> Result<(Vec<NlbGroup>, Option<String>), AcsRefusal> {
    let (found, next) = NLB.page("ListServerGroups", region, &tag_pairs(tag), cursor, size)?;
    Ok((list(&found, "ServerGroups").iter().filter_map(NlbGroup::from_fields).collect(), next))
}

/// All groups with this tag.
pub(crate) fn tagged(region: &str, tag: (&str, &str)) -> Result<Vec<NlbGroup>, AcsRefusal> {
    all(region, &tag_pairs(tag))
}

/// The groups among those with these ids.
pub(crate) fn by_ids(region: &str, ids: &[&str]) -> Result<Vec<NlbGroup>, AcsRefusal> {
    all(region, &borrowed(&counted("ServerGroupIds", ids)))
}

fn all(region: &str, pairs: &[(&str, &str)]) -> Result<Vec<NlbGroup>, AcsRefusal> {
    let found = NLB.all("ListServerGroups", region, pairs, "ServerGroups", PAGE)?;
    Ok(found.iter().filter_map(NlbGroup::from_fields).collect())
}

/// The machines of a group.
pub(crate) fn servers(region: &str, group: &str) -> Result<Vec<NlbServer>, AcsRefusal> {
    let pairs = [("ServerGroupId", group)];
    let found = NLB.all("ListServerGroupServers", region, &pairs, "Servers", PAGE)?;
    Ok(found.iter().filter_map(NlbServer::from_fields).collect())
}

/// Whether a refusal says that there is no such group.
pub(crate) fn is_gone(refusal: &AcsRefusal) -> bool {
    refusal.code.eq_ignore_ascii_case("ResourceNotFound.ServerGroup")
}
