//! Certificates of listeners with https for further domains ("domain extensions").

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, refused, unserved};
use super::pairs::{AcsPairs, text};
use super::published::{answer_part, fitting};
use super::slb_listeners;
use super::world::World;

/// The code of a change of what carries out an earlier one.
const PROCESSING: &str = "DomainExtensionProcessing";

/// Answers a request.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "CreateDomainExtension" => create(world, pairs),
        "DescribeDomainExtensions" => list(world, pairs),
        "DeleteDomainExtension" | "SetDomainExtensionAttribute" => change(world, pairs),
        other => Err(unserved(other)),
    }
}

/// The load balancer and the port of a listener with https.
fn listener<'r>(world: &mut World, pairs: AcsPairs<'r>) -> Result<(&'r str, i64), Refused> {
    let balancer = pairs.needed("LoadBalancerId")?;
    world.balancer(balancer)?;
    let port = pairs.needed_number("ListenerPort", (1, 65_535))?;
    slb_listeners::found(world, balancer, port, "https")?;
    Ok((balancer, port))
}

/// Those of a listener, with their ids.
fn own<'a>(world: &'a World, balancer: &'a str, port: i64) -> impl Iterator<Item = &'a Value> {
    world.domains.of("LoadBalancerId", balancer).map(|(_, it)| it).filter(move |it| it["ListenerPort"] == port)
}

fn create(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let (balancer, port) = listener(world, pairs)?;
    world.is_configurable(balancer, PROCESSING)?;
    let (domain, certificate) = (pairs.needed("Domain")?, pairs.needed("ServerCertificateId")?);
    let is_label = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let name = domain.strip_prefix("*.").unwrap_or(domain);
    if !name.contains('.') || !name.split('.').all(is_label) {
        return Err(bad("Domain", &format!("{domain:?} is no domain")));
    }
    if own(world, balancer, port).any(|it| text(it, "Domain").eq_ignore_ascii_case(domain)) {
        return Err(bad("Domain", "the listener has a certificate for it"));
    }
    let (id, made) = (world.next("de-bp"), world.time());
    let body = json!({
        "DomainExtensionId": id, "LoadBalancerId": balancer, "ListenerPort": port, "Domain": domain,
        "ServerCertificateId": certificate,
    });
    world.domains.put(&id, made, body);
    world.configure(balancer);
    Ok(Answer::ok(&json!({ "DomainExtensionId": id, "ListenerPort": port })))
}

fn list(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let (balancer, port) = listener(world, pairs)?;
    world.count_read(balancer);
    let part = answer_part("/slb/DescribeDomainExtensions", &["DomainExtensions", "DomainExtension", "*"]);
    let id = pairs.get("DomainExtensionId");
    let asked = own(world, balancer, port).filter(|it| id.is_none_or(|id| it["DomainExtensionId"] == *id));
    let shown: Vec<Value> = asked.map(|it| fitting(part, it)).collect();
    Ok(Answer::ok(&json!({ "DomainExtensions": { "DomainExtension": shown } })))
}

fn change(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let id = pairs.needed("DomainExtensionId")?;
    let unknown =
        || refused(400, "InvalidParameter.DomainExtensionId", "The specified DomainExtensionId does not exist.");
    let balancer = text(world.domains.get(id).ok_or_else(unknown)?, "LoadBalancerId").to_owned();
    world.is_configurable(&balancer, PROCESSING)?;
    if pairs.action() == "DeleteDomainExtension" {
        world.domains.remove(id);
    } else {
        let certificate = json!(pairs.needed("ServerCertificateId")?);
        world.domains.get_mut(id).expect("it was found")["ServerCertificateId"] = certificate;
    }
    world.configure(&balancer);
    Ok(Answer::ok(&json!({})))
}

impl World {
    /// Takes the certificates of a listener away with it.
    pub(super) fn forget_domains(&mut self, balancer: &str, port: i64) {
        self.domains.remove_all(|it| it["LoadBalancerId"] == *balancer && it["ListenerPort"] == port);
    }
}
