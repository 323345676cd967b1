//! The rules of nodes' security groups that let load balancers in.
//!
//! Each node's is the group with the cluster's tag, or its only one. A rule for a Network Load Balancer has the
//! load balancer's name in its description, so that each Service's rules are its own; what Services share is revoked
//! only once a complete list of the cluster's load balancers shows nobody else who may need it. A Classic one is let in
//! by its group.

use aerostat_sdk::{Error, Node, Result, SortedMap, SortedSet, events, nodes};

use super::rules::{self, RuleDifference};
use super::{IngressRule, Peers, RuleProtocol, own};
use crate::api::ec2::instances;
use crate::api::ec2::security_groups::{self as api, IpPermission, Peer, RuleKey, SecurityGroup};
use crate::instance::GROUPS;
use crate::load_balancer::targets::instance;
use crate::settings::ClusterMarks;

/// The beginning of the descriptions of rules that let in the clients of a Network Load Balancer; its name follows.
const CLIENT: &str = "kubernetes.io/rule/nlb/client=";
/// The same for its health checks.
const HEALTH: &str = "kubernetes.io/rule/nlb/health=";
/// The description of rules for path MTU discovery, of all Network Load Balancers.
const MTU: &str = "kubernetes.io/rule/nlb/mtu";

/// The description of rules for Classic Load Balancers with the operator's group. With a group that an annotation names, `=` and the
/// load balancer's name follow.
const GIVEN: &str = "aerostat.dev/rule/elb";

/// The description of a rule for clients of this load balancer.
pub(crate) fn client(load_balancer: &str) -> String {
    format!("{CLIENT}{load_balancer}")
}

/// The description of a rule for health checks of this load balancer.
pub(crate) fn health(load_balancer: &str) -> String {
    format!("{HEALTH}{load_balancer}")
}

/// The description of a rule for path MTU discovery.
pub(crate) fn mtu() -> &'static str {
    MTU
}

/// A Network Load Balancer that nodes let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NlbNetwork<'a> {
    pub(crate) cluster: &'a ClusterMarks,
    pub(crate) name: &'a str,
    /// The port of health checks that all Services share: kube-proxy's.
    pub(crate) shared_port: u16,
}

/// Lets a Network Load Balancer into these nodes by these rules and, of its own, by no others. `others` are the names
/// of the cluster's other Network Load Balancers, all of them; asked for only if something shared is left over.
///
/// # Errors
///
/// `invalid` for a node whose group is not clear; whatever EC2 and `others` answered.
pub(crate) fn sync(
    it: NlbNetwork<'_>,
    nodes: &[Node],
    rules: &[IngressRule],
    others: impl FnOnce() -> Result<SortedSet<String>>,
) -> Result<()> {
    let groups = NodeGroups::of(it.cluster, nodes)?;
    let is_ours = |permission: &IpPermission| is_own(permission, it.name) || permission.description == MTU;
    write(it, &groups, &rules::permissions(rules), is_ours, &mut Others::new(others)).map(drop)
}

/// Revokes the rules of a Network Load Balancer, and what nobody else needs. `ports` are those of its rules, by which
/// groups without the cluster's tag are found.
///
/// # Errors
///
/// Whatever EC2 and `others` answered.
pub(crate) fn revoke(
    it: NlbNetwork<'_>,
    ports: &SortedSet<u16>,
    others: impl FnOnce() -> Result<SortedSet<String>>,
) -> Result<()> {
    let mut groups = NodeGroups::of(it.cluster, &[])?;
    if !ports.is_empty() {
        groups.add(api::with_ports(it.cluster, ports)?);
    }
    let is_ours = |permission: &IpPermission| {
        let is_shared_health = permission.description.starts_with(HEALTH) && is_shared_port(it, &permission.key);
        is_own(permission, it.name) || permission.description == MTU || is_shared_health
    };
    let (nothing, mut others) = (SortedSet::new(), Others::new(others));
    let kept = write(it, &groups, &nothing, is_ours, &mut others)?;
    if kept.is_empty() {
        return Ok(());
    }
    // Two load balancers that go at the same time each find the other's rules: whoever is later finds none.
    let mut groups = NodeGroups::default();
    groups.add(api::by_ids(&kept)?);
    write(it, &groups, &nothing, is_ours, &mut others).map(drop)
}

/// A security group of a Classic Load Balancer, by which nodes let it in, and which rule that is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClassicSource<'a> {
    /// It was made for one load balancer, which is proven to be its own. One rule lets in all that it sends, without a description, as
    /// by the vendor's controller.
    Own(&'a str),
    /// The operator's, which all load balancers have. Only a description proves later that no person made the rule.
    Operators(&'a str),
    /// An annotation names it, and others may be in it: the nodes let it in at this load balancer's ports alone. A rule at port
    /// `kept` stays where there is one.
    Authors { id: &'a str, balancer: &'a str, ports: &'a SortedSet<u16>, kept: Option<u16> },
}

/// The rule of the vendor's controller for a group that somebody else made: everything that the group sends, without a description.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum VendorsRule {
    /// No such rule is the load balancer's: who made it is not known.
    Unknown,
    /// The vendor's controller made the load balancer and its rule, and nothing has to be written.
    Stays,
    /// It goes, unless another load balancer needs it.
    Goes,
}

impl<'a> ClassicSource<'a> {
    fn id(self) -> &'a str {
        let (Self::Own(id) | Self::Operators(id) | Self::Authors { id, .. }) = self;
        id
    }

    /// The rules that let it into a group.
    fn rules(self) -> Vec<IngressRule> {
        let rule = |protocol, ports, description: String| IngressRule {
            protocol,
            ports,
            peers: Peers::Group(self.id().to_owned()),
            description,
        };
        match self {
            Self::Own(_) => vec![rule(RuleProtocol::All, None, String::new())],
            Self::Operators(_) => vec![rule(RuleProtocol::All, None, GIVEN.to_owned())],
            Self::Authors { balancer, ports, .. } => {
                ports.iter().map(|it| rule(RuleProtocol::Tcp, Some((*it, *it)), of_author(balancer))).collect()
            }
        }
    }

    /// Whether a permission was made by such a rule.
    fn has_made(self, permission: &IpPermission) -> bool {
        let is_whole = permission.key == self.everything();
        match self {
            Self::Own(_) => is_whole,
            Self::Operators(_) => is_whole && permission.description == GIVEN,
            Self::Authors { id, balancer, kept, .. } => {
                let is_kept = kept.is_some() && permission.key.from == kept.map(Into::into);
                permission.key.peer == Peer::Group(id.to_owned())
                    && permission.description == of_author(balancer)
                    && !is_kept
            }
        }
    }

    /// Whether a permission is as the vendor's controller makes it.
    fn is_vendors(self, permission: &IpPermission) -> bool {
        !matches!(self, Self::Own(_)) && permission.key == self.everything() && permission.description.is_empty()
    }

    fn everything(self) -> RuleKey {
        RuleKey { protocol: "-1".to_owned(), from: None, to: None, peer: Peer::Group(self.id().to_owned()) }
    }
}

fn of_author(balancer: &str) -> String {
    format!("{GIVEN}={balancer}")
}

/// Lets what has this group into these nodes, and no longer into others with the cluster's tag. `is_shared` says
/// whether another load balancer needs a rule that both have; asked for only if such a rule is left over.
///
/// # Errors
///
/// As [`sync`].
pub(crate) fn admit(
    cluster: &ClusterMarks,
    from: ClassicSource<'_>,
    vendors: VendorsRule,
    nodes: &[Node],
    is_shared: impl FnOnce() -> Result<bool>,
) -> Result<()> {
    write_group(cluster, &NodeGroups::of(cluster, nodes)?, from, vendors, is_shared).map(drop)
}

/// Lets what has this group into no node, but for a rule that another load balancer needs too. Answers whether one is kept. What
/// refers to a group keeps it from being deleted.
///
/// # Errors
///
/// As [`revoke`].
pub(crate) fn refuse(
    cluster: &ClusterMarks,
    from: ClassicSource<'_>,
    vendors: VendorsRule,
    is_shared: impl FnOnce() -> Result<bool>,
) -> Result<bool> {
    let mut groups = NodeGroups::default();
    groups.add(api::referring_to(from.id())?);
    write_group(cluster, &groups, from, vendors, is_shared)
}

fn write_group(
    cluster: &ClusterMarks,
    groups: &NodeGroups,
    from: ClassicSource<'_>,
    vendors: VendorsRule,
    is_shared: impl FnOnce() -> Result<bool>,
) -> Result<bool> {
    let (desired, nothing) = (rules::permissions(&from.rules()), SortedSet::new());
    let mut left_over = Vec::new();
    for group in groups.all.values() {
        let is_of_nodes = groups.of_nodes.contains(&group.id);
        let desired = if is_of_nodes { &desired } else { &nothing };
        let mut difference = RuleDifference::between(&group.permissions, desired, |it| from.has_made(it));
        // In a group of another cluster, or in a person's, such a rule is not the vendor's.
        let is_clusters = is_of_nodes || group.is_tagged(cluster);
        let is_known = vendors != VendorsRule::Unknown && is_clusters;
        let old = group.permissions.iter().find(|it| is_known && from.is_vendors(it)).cloned();
        match old {
            Some(_) if is_of_nodes && vendors == VendorsRule::Stays => difference.add.clear(),
            Some(old) => left_over.push((group, old)),
            None => {}
        }
        // All load balancers have the operator's rule.
        if matches!(from, ClassicSource::Operators(_)) {
            left_over.extend(std::mem::take(&mut difference.revoke).into_iter().map(|it| (group, it)));
        }
        own::write(group, &difference)?;
    }
    if left_over.is_empty() {
        return Ok(false);
    }
    if is_shared()? {
        return Ok(true);
    }
    for (group, permission) in left_over {
        own::write(group, &RuleDifference { revoke: [permission].into(), ..RuleDifference::default() })?;
    }
    Ok(false)
}

fn is_own(permission: &IpPermission, name: &str) -> bool {
    [client(name), health(name)].contains(&permission.description)
}

fn is_shared_port(it: NlbNetwork<'_>, key: &RuleKey) -> bool {
    key.protocol == "tcp" && key.from == Some(it.shared_port.into())
}

/// The names of the cluster's other load balancers, which take a list of all to find out.
struct Others<F> {
    /// `None` once it was asked.
    ask: Option<F>,
    names: SortedSet<String>,
}

impl<F: FnOnce() -> Result<SortedSet<String>>> Others<F> {
    fn new(ask: F) -> Self {
        Self { ask: Some(ask), names: SortedSet::new() }
    }

    fn names(&mut self) -> Result<&SortedSet<String>> {
        if let Some(ask) = self.ask.take() {
            self.names = ask()?;
        }
        Ok(&self.names)
    }
}

/// Writes to each group what differs. Answers the groups that lost rules of its own and keep one that Services share, because
/// they let in clients of another load balancer.
fn write<'a>(
    it: NlbNetwork<'_>,
    groups: &'a NodeGroups,
    desired: &SortedSet<IpPermission>,
    is_ours: impl Fn(&IpPermission) -> bool,
    others: &mut Others<impl FnOnce() -> Result<SortedSet<String>>>,
) -> Result<Vec<&'a str>> {
    let mut kept = Vec::new();
    let is_shared = |permission: &IpPermission| permission.description == MTU || is_shared_port(it, &permission.key);
    let nothing = SortedSet::new();
    for group in groups.all.values() {
        let desired = if groups.of_nodes.contains(&group.id) { desired } else { &nothing };
        let mut difference = RuleDifference::between(&group.permissions, desired, &is_ours);
        let before = difference.revoke.len();
        difference.revoke.retain(|permission| !is_let_in(it, group, permission));
        if difference.revoke.len() < before && difference.revoke.iter().any(|permission| is_own(permission, it.name)) {
            kept.push(&*group.id);
        }
        if difference.revoke.iter().any(is_shared) {
            let others = others.names()?;
            difference.revoke.retain(|permission| !is_shared(permission) || !may_need(others, group, permission));
        }
        own::write(group, &difference)?;
    }
    Ok(kept)
}

/// Whether a rule for path MTU discovery belongs to clients of another load balancer that the group lets in.
fn is_let_in(it: NlbNetwork<'_>, group: &SecurityGroup, permission: &IpPermission) -> bool {
    let is_client = |other: &&IpPermission| other.description.strip_prefix(CLIENT).is_some_and(|name| name != it.name);
    let mut clients = group.permissions.iter().filter(is_client);
    permission.description == MTU && clients.any(|client| client.key.peer == permission.key.peer)
}

/// Whether one of the other load balancers may need a rule that Services share. One whose clients the group lets in has
/// its own rules for path MTU discovery; of any other it is not known.
fn may_need(others: &SortedSet<String>, group: &SecurityGroup, permission: &IpPermission) -> bool {
    let is_client = |name: &String| group.permissions.iter().any(|it| it.description == client(name));
    others.iter().any(|name| permission.description != MTU || !is_client(name))
}

/// The groups that rules are written to.
#[derive(Debug, Default)]
struct NodeGroups {
    /// By id: those of nodes, and those with the cluster's tag.
    all: SortedMap<String, SecurityGroup>,
    /// The ids of those of nodes.
    of_nodes: SortedSet<String>,
}

impl NodeGroups {
    /// The groups of these nodes, and all with the cluster's tag.
    fn of(cluster: &ClusterMarks, nodes: &[Node]) -> Result<Self> {
        let mut groups = Self::default();
        groups.add(api::tagged(cluster)?);
        groups.of_nodes = of_nodes(nodes, &groups.all.keys().map(String::as_str).collect())?;
        let unknown: Vec<&str> =
            groups.of_nodes.iter().filter(|it| !groups.all.contains_key(*it)).map(String::as_str).collect();
        let found = api::by_ids(&unknown)?;
        groups.add(found);
        if let Some(id) = groups.of_nodes.iter().find(|it| !groups.all.contains_key(*it)) {
            return Err(Error::unavailable(format_args!("EC2 does not show security group {id}, which a node has")));
        }
        Ok(groups)
    }

    fn add(&mut self, groups: Vec<SecurityGroup>) {
        self.all.extend(groups.into_iter().map(|it| (it.id.clone(), it)));
    }
}

/// The groups of these nodes' instances.
fn of_nodes(nodes: &[Node], tagged: &SortedSet<&str>) -> Result<SortedSet<String>> {
    let instances: Vec<(&Node, &str)> = nodes.iter().filter_map(|it| Some((it, instance(it)?))).collect();
    let is_unknown = |(node, _): &&(&Node, &str)| hint(node).is_none();
    let unknown: Vec<&str> = instances.iter().filter(is_unknown).map(|(_, id)| *id).collect();
    let mut found = SortedMap::new();
    for ids in unknown.chunks(crate::api::ec2::FILTER_VALUES) {
        found.extend(instances::by_ids(ids)?.into_iter().map(|it| (it.id, it.groups)));
    }
    let (mut groups, mut without) = (SortedSet::new(), Vec::new());
    for (node, id) in instances {
        let of_node = hint(node).or_else(|| found.get(id).cloned()).unwrap_or_default();
        match one(id, &of_node, tagged)? {
            Some(group) => _ = groups.insert(group.to_owned()),
            None => without.push(&*node.name),
        }
    }
    if !without.is_empty() {
        let message =
            format!("no security group is known of {}: no rule lets a load balancer in", nodes::named(&without));
        events::warning(None, "NodesSkipped", &message);
    }
    Ok(groups)
}

/// The groups of a node in the last list of instances.
fn hint(node: &Node) -> Option<Vec<String>> {
    let (_, ids) = node.extra.iter().find(|(key, _)| key == GROUPS)?;
    Some(ids.split(',').map(str::to_owned).collect())
}

/// Which of an instance's groups lets load balancers in: the one with the cluster's tag, or the only one.
///
/// # Errors
///
/// `invalid`, if several could be.
fn one<'a>(instance: &str, groups: &'a [String], tagged: &SortedSet<&str>) -> Result<Option<&'a str>> {
    let (with, without): (Vec<&String>, Vec<&String>) = groups.iter().partition(|it| tagged.contains(it.as_str()));
    let named = |groups: &[&String]| groups.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ");
    match (&with[..], &without[..]) {
        ([group], _) | ([], [group]) => Ok(Some(group)),
        ([], []) => Ok(None),
        ([], several) => Err(Error::invalid(format_args!(
            "instance {instance} has several security groups, {}, and none of them has the cluster's tag: put it on \
             the one that load balancers are let in by",
            named(several)
        ))),
        (several, _) => Err(Error::invalid(format_args!(
            "instance {instance} has several security groups with the cluster's tag, {}: leave it on the one that \
             load balancers are let in by",
            named(several)
        ))),
    }
}
