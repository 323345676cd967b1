//! The machine of a node: an instance of EC2, or a pod of Fargate.

use aerostat_sdk::{Error, Instance, Instances, Node, Page, Result, SortedMap, SortedSet, events};

use crate::api::ec2::instances::{self as api, By, Ec2Instance};
use crate::api::ec2::{FILTER_VALUES, interfaces};
use crate::instance::{self, exists};
use crate::machine::{AwsMachine, fargate_address};
use crate::places::Places;
use crate::provider::Aws;
use crate::settings::MachineSettings;

/// The beginning of a cursor of the list by the older tag.
const LEGACY: &str = "legacy";
/// The beginning of a cursor of the list by the tag.
const KEY: &str = "key";
/// The most requests for instances by their ids in one call, which may make a hundred in all: as many as find three ids that EC2 refuses
/// among two hundred.
const LOOKUPS: u32 = 48;

impl Instances for Aws {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let mut answers = Self::get_many(std::slice::from_ref(node));
        answers.pop().unwrap_or_else(|| Err(Error::unavailable("there is no answer")))
    }

    fn get_many(nodes: &[Node]) -> Vec<Result<Option<Instance>>> {
        match MachineSettings::read() {
            Ok(settings) => answers(nodes, &settings),
            Err(error) => nodes.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let settings = MachineSettings::read()?;
        let place = ListPlace::parse(cursor)?;
        let ListPlace { by, skip, token } = place;
        let found = api::page(&settings.cluster, by, token, limit)?;
        let is_listed_before = |it: &&Ec2Instance| by == By::LegacyValue && has_tag(it, &settings.cluster.tag());
        let asked: Vec<_> = found.instances.iter().skip(skip).take(limit as usize).collect();
        let told = skip + asked.len();
        let shown: Vec<_> = asked.into_iter().filter(|it| exists(it) && !is_listed_before(it)).collect();
        let next = match (found.next, by) {
            _ if told < found.instances.len() => Some(ListPlace { skip: told, ..place }.text()),
            (Some(token), _) => Some(ListPlace { by, skip: 0, token: Some(&token) }.text()),
            (None, By::Key) if settings.cluster.has_legacy_tag => {
                Some(ListPlace { by: By::LegacyValue, skip: 0, token: None }.text())
            }
            (None, _) => None,
        };
        Ok(page(&shown, &settings, next))
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        AwsMachine::parse(provider_id).map(|it| it.id().to_owned())
    }
}

/// The place in the lists from which a cursor goes on: `key:TOKEN`, `legacy:TOKEN`, or `key+2:TOKEN` within a page. EC2 has no
/// page of fewer than five instances: a smaller one is a part of it, and the others are read again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct ListPlace<'a> {
    by: By,
    /// How many instances of EC2's page were told already.
    skip: usize,
    /// EC2's token; `None` is the list's beginning.
    token: Option<&'a str>,
}

impl<'a> ListPlace<'a> {
    fn parse(cursor: Option<&'a str>) -> Result<Self> {
        let Some(cursor) = cursor else { return Ok(Self { by: By::Key, skip: 0, token: None }) };
        let unknown = || Error::invalid(format_args!("cursor {cursor:?} is not one of the list of instances"));
        let (place, token) = cursor.split_once(':').ok_or_else(unknown)?;
        let (by, skip) = match place.split_once('+') {
            Some((by, skip)) => (by, skip.parse().map_err(|_| unknown())?),
            None => (place, 0),
        };
        let by = match by {
            KEY => By::Key,
            LEGACY => By::LegacyValue,
            _ => return Err(unknown()),
        };
        Ok(Self { by, skip, token: Some(token).filter(|it| !it.is_empty()) })
    }

    fn text(self) -> String {
        let Self { by, skip, token } = self;
        let (by, token) = (if by == By::Key { KEY } else { LEGACY }, token.unwrap_or_default());
        if skip == 0 { format!("{by}:{token}") } else { format!("{by}+{skip}:{token}") }
    }
}

fn has_tag(it: &Ec2Instance, key: &str) -> bool {
    it.tags.iter().any(|(it, _)| it == key)
}

/// A page of these instances. One whose labels could not be read is left out, which leaves a gap in its zone: it is then asked about
/// alone.
fn page(shown: &[&Ec2Instance], settings: &MachineSettings, next: Option<String>) -> Page {
    let places = Places::of(shown, settings);
    let mut instances = Vec::new();
    let mut gaps = SortedMap::new();
    for it in shown {
        match places.labels(it) {
            Ok(labels) => instances.push(instance::instance(it, settings, labels)),
            Err(error) => _ = gaps.get_or_insert(it.zone.clone(), why(error)),
        }
    }
    gaps.into_iter().fold(Page::new(instances, next), |page, (zone, why)| match zone {
        Some(zone) => page.gap_in_zone(zone, why),
        None => page.gap(why),
    })
}

fn why(error: Error) -> String {
    match error {
        Error::Invalid(why) | Error::Denied(why) | Error::Unavailable(why) => why,
        Error::RetryAfter(pause) => pause.reason,
    }
}

/// One answer for each node, by as few requests as there are kinds of questions.
fn answers(nodes: &[Node], settings: &MachineSettings) -> Vec<Result<Option<Instance>>> {
    let machines: Vec<Result<Option<AwsMachine<'_>>>> = nodes.iter().map(machine).collect();
    let of_machine = |it: &dyn Fn(&AwsMachine<'_>) -> bool| -> SortedSet<&str> {
        machines.iter().flatten().flatten().filter(|machine| it(machine)).map(AwsMachine::id).collect()
    };
    let by_id = by_ids(of_machine(&|it| matches!(it, AwsMachine::Instance(_))));
    let pods = pods(of_machine(&|it| matches!(it, AwsMachine::Fargate(_))), settings);
    let named =
        nodes.iter().zip(&machines).filter(|(_, machine)| matches!(machine, Ok(None))).map(|(node, _)| &*node.name);
    let by_name = by_names(named.collect(), settings);

    let found = |node: &Node, machine: &Result<Option<AwsMachine<'_>>>| -> Result<Option<Ec2Instance>> {
        match machine.as_ref().map_err(Clone::clone)? {
            Some(machine) => answer_of(&by_id, machine.id()),
            None => of_name(node, &by_name),
        }
    };
    let found: Vec<Result<Option<Ec2Instance>>> =
        nodes.iter().zip(&machines).map(|(node, machine)| found(node, machine).map(|it| it.filter(exists))).collect();
    let shown: Vec<_> = found.iter().flatten().flatten().collect();
    let places = Places::of(&shown, settings);
    let answer = |node: &Node, machine: &Result<Option<AwsMachine<'_>>>, found: &Result<Option<Ec2Instance>>| {
        if let Ok(Some(AwsMachine::Fargate(id))) = machine {
            let Some(interface) = answer_of(&pods, id)? else { return Ok(None) };
            interface.zone.iter().try_for_each(|zone| settings.cluster.check_zone(&format!("pod {id}"), zone))?;
            return Ok(Some(instance::fargate(node, id, &interface, settings)));
        }
        let Some(found) = found.as_ref().map_err(Clone::clone)? else { return Ok(None) };
        places.labels(found).map(|labels| Some(instance::instance(found, settings, labels)))
    };
    nodes.iter().zip(&machines).zip(&found).map(|((node, machine), found)| answer(node, machine, found)).collect()
}

/// The machine that a node says; `None`, if only its name can be asked for.
fn machine(node: &Node) -> Result<Option<AwsMachine<'_>>> {
    match &node.provider_id {
        Some(provider_id) => AwsMachine::parse(provider_id).map(Some),
        None => Ok(AwsMachine::of_name(&node.name)),
    }
}

type ById<'a, T> = SortedMap<&'a str, Result<Option<T>>>;

/// The answer about an id. What was not asked for is not absent.
fn answer_of<T: Clone>(answers: &ById<'_, T>, id: &str) -> Result<Option<T>> {
    let answer = answers.get(id).cloned();
    answer.unwrap_or_else(|| Err(Error::unavailable(format_args!("{id} was not asked for"))))
}

fn by_ids(ids: SortedSet<&str>) -> ById<'_, Ec2Instance> {
    let ids: Vec<_> = ids.into_iter().collect();
    let (mut answers, mut lookups) = (SortedMap::new(), LOOKUPS);
    ids.chunks(FILTER_VALUES).for_each(|ids| ask(ids, &mut answers, &mut lookups));
    answers
}

/// Asks for instances by id, all at once. If EC2 refuses an id, the others are asked for without it, as long as `lookups` are left.
fn ask<'a>(ids: &[&'a str], answers: &mut ById<'a, Ec2Instance>, lookups: &mut u32) {
    let Some(left) = lookups.checked_sub(1) else {
        let why =
            "EC2 refuses too many of the ids that were asked for with it: correct the provider ids of these nodes";
        answers
            .extend(ids.iter().map(|id| (*id, Err(Error::unavailable(format_args!("{id} was not asked for: {why}"))))));
        return;
    };
    *lookups = left;
    match api::by_ids(ids) {
        Ok(found) => {
            let mut found: SortedMap<String, Ec2Instance> = found.into_iter().map(|it| (it.id.clone(), it)).collect();
            answers.extend(ids.iter().map(|id| (*id, Ok(found.remove(*id)))));
        }
        Err(refusal) if refusal.code.starts_with("InvalidInstanceID.") && ids.len() > 1 => {
            let (some, others) = ids.split_at(ids.len() / 2);
            ask(some, answers, lookups);
            ask(others, answers, lookups);
        }
        Err(refusal) if refusal.code == "InvalidInstanceID.NotFound" => {
            answers.extend(ids.iter().map(|id| (*id, Ok(None))))
        }
        Err(refusal) => answers.extend(ids.iter().map(|id| (*id, Err(refusal.error.clone())))),
    }
}

/// The network interface of each pod of Fargate, by the id of its node.
fn pods<'a>(ids: SortedSet<&'a str>, settings: &MachineSettings) -> ById<'a, interfaces::NetworkInterface> {
    let parsed: Vec<_> = ids.into_iter().map(|id| (id, fargate_address(id).map(|it| it.to_string()))).collect();
    let addresses: SortedSet<&String> = parsed.iter().filter_map(|(_, address)| address.as_ref().ok()).collect();
    let addresses: Vec<_> = addresses.into_iter().collect();
    let found = match addresses.is_empty() {
        true => Ok(Vec::new()),
        false => interfaces::attached(&settings.cluster.vpc, &addresses).map_err(Error::from),
    };
    let answer = |address: Result<String>| {
        let (address, found) = (address?, found.as_ref().map_err(Clone::clone)?);
        Ok(found.iter().find(|it| it.address == address).cloned())
    };
    parsed.into_iter().map(|(id, address)| (id, answer(address))).collect()
}

/// The cluster's instances with these private DNS names.
fn by_names(names: SortedSet<&str>, settings: &MachineSettings) -> Result<Vec<Ec2Instance>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = names.into_iter().collect();
    let mut found = api::by_private_dns(&names)?;
    found.retain(|it| it.tags.iter().any(|(key, value)| settings.cluster.owns(key, value)));
    Ok(found)
}

/// The one instance whose kubelet registers as this node.
fn of_name(node: &Node, found: &Result<Vec<Ec2Instance>>) -> Result<Option<Ec2Instance>> {
    let found = found.as_ref().map_err(Clone::clone)?;
    let mut of_node = found.iter().filter(|it| instance::node_name(it) == node.name);
    match (of_node.next(), of_node.next()) {
        (Some(one), Some(another)) => {
            let message = format!(
                "instances {} and {} both have the cluster's tag and the private DNS name {}, and either could be this node: take the \
                 tag off one of them",
                one.id, another.id, node.name
            );
            events::warning(Some(&node.name), "InstanceLookupFailed", &message);
            Err(Error::Invalid(message))
        }
        (found, _) => Ok(found.cloned()),
    }
}
