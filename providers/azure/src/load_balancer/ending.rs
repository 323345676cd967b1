//! Services for which everything is as desired once operations have ended: nothing is asked about but these, as long as a Service asks for
//! the same.

use std::fmt::Write as _;

use aerostat_sdk::{Error, LoadBalancer, Node, Progress, Result, SortedMap, settings};
use md5::{Digest as _, Md5};

use super::goal::BatchService;
use super::memo::AzureMemo;
use super::writing::POLL;
use crate::api::AzureApi;
use crate::api::operations::{self, AzureOperationState};
use crate::settings::balancers::AzureBalancerSettings;

/// The reason why such a Service waits.
pub(crate) const WHY: &str = "nodes are joining or leaving its pool";

/// The operations that were asked about in a call.
type AskedOperations = SortedMap<String, Result<AzureOperationState>>;

/// The answers to those of these Services that wait for nothing else; `None` for each other one, and where an operation has ended in
/// another way than well.
pub(crate) fn answers(
    services: &[BatchService<'_>],
    settings: &AzureBalancerSettings,
) -> Vec<Option<Result<Progress>>> {
    let mut known = AskedOperations::new();
    services.iter().map(|it| answer(it, settings, &mut known)).collect()
}

fn answer(
    it: &BatchService<'_>,
    settings: &AzureBalancerSettings,
    known: &mut AskedOperations,
) -> Option<Result<Progress>> {
    let memo = AzureMemo::of(it.service).ok()?;
    if memo.operations.is_empty() || memo.asked.as_ref() != Some(&asked(it.service, &it.nodes)) {
        return None;
    }
    let mut goes_on = false;
    for operation in &memo.operations {
        if known.get(operation).is_none() {
            let subscription = &settings.account.network_subscription;
            known.insert(operation.clone(), operations::state(AzureApi::Network, subscription, operation));
        }
        match known.get(operation)? {
            Ok(AzureOperationState::Ongoing) => goes_on = true,
            Ok(AzureOperationState::Succeeded) => {}
            // The next call makes up for it.
            Ok(AzureOperationState::Failed(error)) => {
                let memo = AzureMemo { operations: Vec::new(), asked: None, ..memo };
                return Some(Ok(Progress::failed(memo.status(it.service), error.clone())));
            }
            Err(error @ Error::RetryAfter(_)) => return Some(Err(error.clone())),
            Ok(AzureOperationState::Unknown) | Err(_) => return None,
        }
    }
    if goes_on {
        return Some(Ok(Progress::pending(memo.status(it.service), POLL, WHY)));
    }
    let memo = AzureMemo { operations: Vec::new(), asked: None, ..memo };
    Some(Ok(Progress::Ready(memo.status(it.service))))
}

/// A short name for all that a Service asks for, and shows, with these nodes and the settings of the provider.
pub(crate) fn asked(service: &LoadBalancer, nodes: &[&Node]) -> String {
    let mut digest = AskedDigest(Md5::new());
    digest.add(env!("CARGO_PKG_VERSION"));
    digest.add_pairs(&settings::all());
    digest.add_service(service);
    nodes.iter().for_each(|it| digest.add_node(it));
    let mut name = String::new();
    for byte in &digest.0.finalize()[..8] {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// The texts of a Service, its nodes and the settings, each with its length before it.
struct AskedDigest(Md5);

impl AskedDigest {
    fn add(&mut self, text: &str) {
        self.0.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.0.update(text);
    }

    fn add_optional(&mut self, text: Option<&String>) {
        self.0.update([u8::from(text.is_some())]);
        text.into_iter().for_each(|it| self.add(it));
    }

    fn add_number(&mut self, number: Option<u32>) {
        self.0.update([u8::from(number.is_some())]);
        self.0.update(number.unwrap_or_default().to_le_bytes());
    }

    fn add_count(&mut self, count: usize) {
        self.0.update(u64::try_from(count).unwrap_or(u64::MAX).to_le_bytes());
    }

    fn add_pairs(&mut self, pairs: &[(String, String)]) {
        self.add_count(pairs.len());
        for (name, value) in pairs {
            self.add(name);
            self.add(value);
        }
    }

    /// All but the memo, which is what the last call said, and the host's own words about the call.
    fn add_service(&mut self, service: &LoadBalancer) {
        let owner = &service.owner;
        for text in [&service.name, &owner.cluster, &owner.namespace, &owner.name, &owner.uid] {
            self.add(text);
        }
        self.add_count(service.current_ingress.len());
        for ingress in &service.current_ingress {
            self.add_optional(ingress.ip.as_ref());
            self.add_optional(ingress.hostname.as_ref());
        }
        self.add_optional(service.load_balancer_class.as_ref());
        self.add_count(service.ports.len());
        for port in &service.ports {
            self.add(&port.name);
            self.add_number(Some(port.protocol as u32));
            self.add_number(Some(port.port.into()));
            self.add_number(port.node_port.map(Into::into));
            self.add_optional(port.app_protocol.as_ref());
        }
        self.add_pairs(&service.annotations);
        self.add_count(service.source_ranges.len());
        service.source_ranges.iter().for_each(|it| self.add(it));
        self.add_count(service.ip_families.len());
        service.ip_families.iter().for_each(|it| self.add_number(Some(*it as u32)));
        self.add_optional(service.load_balancer_ip.as_ref());
        self.add(&format!("{:?}", service.external_traffic_policy));
        self.add_number(service.client_ip_affinity_seconds);
    }

    fn add_node(&mut self, node: &Node) {
        self.add(&node.name);
        for text in [&node.uid, &node.provider_id, &node.zone, &node.region] {
            self.add_optional(text.as_ref());
        }
        self.add_count(node.addresses.len());
        for address in &node.addresses {
            self.add_number(Some(address.kind as u32));
            self.add(&address.value);
        }
        self.add_pairs(&node.labels);
        self.add_pairs(&node.extra);
    }
}
