//! The server of a node.

use std::cell::OnceCell;

use aerostat_sdk::{Error, Instance, Instances, Node, Page, Result, SortedMap, events};

use crate::api::PAGE;
use crate::api::servers::{self, NovaServer};
use crate::attached::Attached;
use crate::label;
use crate::machine;
use crate::provider::OpenStack;
use crate::server::{self, ServerRules};
use crate::settings::{ServerSettings, region};

/// Nodes in one `get`: Nova is asked about each, Neutron once for all of them.
pub(crate) const AT_ONCE: u32 = 20;

impl Instances for OpenStack {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let mut answers = Self::get_many(std::slice::from_ref(node));
        answers.pop().unwrap_or_else(|| Err(Error::unavailable("there is no answer")))
    }

    fn get_many(nodes: &[Node]) -> Vec<Result<Option<Instance>>> {
        match ServerSettings::read() {
            Ok(settings) => answers(nodes, &ServerRules::of(&settings)),
            Err(error) => nodes.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let rules = ServerRules::of(&ServerSettings::read()?);
        let (mut found, next) = servers::page(cursor, limit.clamp(1, PAGE))?;
        found.retain(NovaServer::exists);
        let shown: Vec<&NovaServer> = found.iter().collect();
        let attached = Attached::of(&shown, cursor.is_some() || next.is_some())?;
        let flavors = Flavors::default();
        let (mut instances, mut gaps) = (Vec::new(), SortedMap::new());
        for it in shown {
            match flavors.label(it).and_then(|kind| server::instance(it, &attached, kind, &rules)) {
                Ok(instance) => instances.push(instance),
                // A server whose ports are not active yet is asked about alone, if it is a node's. Others would leave a gap for ever.
                Err(error) if is_gap(it, &attached) => _ = gaps.get_or_insert(server::zone(it), error.why().to_owned()),
                Err(_) => {}
            }
        }
        Ok(gaps.into_iter().fold(Page::new(instances, next), |page, (zone, why)| match zone {
            Some(zone) => page.gap_in_zone(zone, why),
            None => page.gap(why),
        }))
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        let id = machine::server_id(provider_id, &region()?)?;
        Ok(machine::provider_id(&id, None))
    }
}

/// Whether a server that cannot be shown may be a node all the same: it runs, and has ports.
fn is_gap(server: &NovaServer, attached: &Attached) -> bool {
    server.status == "ACTIVE" && !attached.ports_of(&server.id).is_empty()
}

/// One answer for each node.
fn answers(nodes: &[Node], rules: &ServerRules) -> Vec<Result<Option<Instance>>> {
    let found: Vec<Result<Option<NovaServer>>> = nodes.iter().map(|it| find(it, rules)).collect();
    let shown: Vec<&NovaServer> = found.iter().flatten().flatten().collect();
    let attached = Attached::of(&shown, false);
    let flavors = Flavors::default();
    let answer = |node: &Node, found: &Result<Option<NovaServer>>| {
        let Some(found) = found.as_ref().map_err(Clone::clone)? else { return Ok(None) };
        let attached = attached.as_ref().map_err(Clone::clone)?;
        let instance = server::instance(found, attached, flavors.label(found)?, rules)?;
        // Without addresses a node would be initialised with its own.
        match instance.addresses.is_empty() && node.provider_id.is_none() {
            true => Err(Error::unavailable(format_args!(
                "server {} of node {} is {}, and none of its ports is ACTIVE",
                found.id, node.name, found.status
            ))),
            false => Ok(Some(instance)),
        }
    };
    nodes.iter().zip(&found).map(|(node, found)| answer(node, found)).collect()
}

/// The server of a node: by its provider id, or by its name.
fn find(node: &Node, rules: &ServerRules) -> Result<Option<NovaServer>> {
    let found = match &node.provider_id {
        Some(it) => servers::find(&machine::server_id(it, rules.region())?)?,
        None => named(node)?,
    };
    Ok(found.filter(NovaServer::exists))
}

/// The one server whose kubelet registers as this node.
fn named(node: &Node) -> Result<Option<NovaServer>> {
    let mut found = servers::named(&node.name)?;
    found.retain(|it| it.exists() && server::node_name(it) == node.name);
    if let [one, another, ..] = &found[..] {
        let message = format!(
            "servers {} and {} are both called {}, and either could be this node: rename one of them",
            one.id, another.id, node.name
        );
        events::warning(Some(&node.name), "InstanceLookupFailed", &message);
        return Err(Error::Invalid(message));
    }
    Ok(found.pop())
}

/// The ids of flavours, read once if a name cannot stand in a label.
#[derive(Default)]
struct Flavors(OnceCell<Result<SortedMap<String, String>>>);

impl Flavors {
    /// The label for a server's flavour: its name, or else its id. None, if neither can be a label, or the flavour is gone.
    fn label(&self, server: &NovaServer) -> Result<Option<String>> {
        let name = &*server.flavor;
        if name.is_empty() || label::valid(name).is_some() {
            return Ok(label::valid(name).map(str::to_owned));
        }
        let ids = self.0.get_or_init(servers::flavors).as_ref().map_err(Clone::clone)?;
        Ok(ids.get(name).and_then(|it| label::valid(it)).map(str::to_owned))
    }
}
