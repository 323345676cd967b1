//! Listeners of Network Load Balancers.

use serde_json::{Map, Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, refused, unserved};
use super::listing;
use super::pairs::{AcsPairs, text};
use super::published::{answer_part, fitting};
use super::region::REGION;
use super::world::World;

/// Parameters that are no fields of a listener.
const NO_FIELDS: [&str; 3] = ["ClientToken", "RegionId", "LoadBalancerId"];

/// A change of a listener, once its job has succeeded.
type ListenerChange = Box<dyn FnOnce(&mut World) + Send>;

/// Answers a request.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "CreateListener" => return create(world, pairs),
        "ListListeners" => return list(world, pairs),
        "ListListenerCertificates" => return certificates(world, pairs),
        _ => {}
    }
    let id = pairs.needed("ListenerId")?;
    let unknown = || refused(404, "ResourceNotFound.listener", "The specified resource listener is not found.");
    let listener = world.network_listeners.get(id).ok_or_else(unknown)?;
    let balancer = text(listener, "LoadBalancerId").to_owned();
    world.is_free("listener", id)?;
    world.is_free("loadBalancer", &balancer)?;
    let (own, further) = (id.to_owned(), listener["AdditionalCertificateIds"].clone());
    let mut fields = fields(world, pairs)?;
    if pairs.action().ends_with("AdditionalCertificatesWithListener") {
        fields.insert("AdditionalCertificateIds".to_owned(), further_certificates(&further, pairs)?);
    }
    let (status, change): (&str, ListenerChange) = match pairs.action() {
        "DeleteListener" => ("Deleting", Box::new(move |world: &mut World| drop(world.network_listeners.remove(&own)))),
        "AssociateAdditionalCertificatesWithListener"
        | "DisassociateAdditionalCertificatesWithListener"
        | "StartListener"
        | "UpdateListenerAttribute" => {
            if pairs.action() == "StartListener" {
                fields.insert("ListenerStatus".to_owned(), json!("Running"));
            }
            let change = move |world: &mut World| {
                if let Some(it) = world.network_listeners.get_mut(&own) {
                    *it = listing::with(it.take(), &Value::Object(fields));
                }
            };
            ("Configuring", Box::new(change))
        }
        other => return Err(unserved(other)),
    };
    let (own, taking) = (id.to_owned(), world.behaviour.job);
    let before = world.network_listeners.get_mut(id).map(|it| it["ListenerStatus"].take()).unwrap_or_default();
    if let Some(it) = world.network_listeners.get_mut(id) {
        it["ListenerStatus"] = json!(status);
    }
    let job = world.begin_job(pairs.action(), &[id], taking, move |world, succeeded| {
        if let Some(it) = world.network_listeners.get_mut(&own) {
            it["ListenerStatus"] = before;
        }
        if succeeded {
            change(world);
        }
    });
    Ok(Answer::ok(&json!({ "JobId": job })))
}

/// The fields that a request writes, each judged.
fn fields(world: &World, pairs: AcsPairs<'_>) -> Result<Map<String, Value>, Refused> {
    if let Some(group) = pairs.get("ServerGroupId")
        && world.network_groups.get(group).is_none()
    {
        return Err(refused(404, "ResourceNotFound.serverGroup", "The specified resource serverGroup is not found."));
    }
    pairs.number("IdleTimeout", (1, 900), 900)?;
    pairs.number("Cps", (0, 1_000_000), 0)?;
    if pairs.text("ListenerDescription").len() > 256 {
        return Err(bad("ListenerDescription", "it is longer than 256 characters"));
    }
    let mut fields = Map::new();
    for (name, value) in pairs.all().filter(|(it, _)| !NO_FIELDS.contains(it)) {
        match name.split_once('.') {
            None if name == "ProxyProtocolV2Config" => _ = fields.insert(name.to_owned(), proxy_fields(value)?),
            None => _ = fields.insert(name.to_owned(), json!(value)),
            Some((list, _)) => _ = fields.insert(list.to_owned(), json!(pairs.list(list))),
        }
    }
    Ok(fields)
}

/// The members of a text in JSON, which are flags.
fn proxy_fields(text: &str) -> Result<Value, Refused> {
    const MEMBERS: [&str; 3] = ["Ppv2PrivateLinkEpIdEnabled", "Ppv2PrivateLinkEpsIdEnabled", "Ppv2VpcIdEnabled"];
    let read: Value = serde_json::from_str(text).unwrap_or_default();
    let is_right = |(name, value): (&String, &Value)| MEMBERS.contains(&name.as_str()) && value.is_boolean();
    match read.as_object().is_some_and(|it| it.iter().all(is_right)) {
        true => Ok(read),
        false => Err(bad("ProxyProtocolV2Config", text)),
    }
}

/// The further certificates of a listener that has these, after a request about some of them.
fn further_certificates(own: &Value, pairs: AcsPairs<'_>) -> Result<Value, Refused> {
    let ids = pairs.list("AdditionalCertificateIds");
    let mut all: Vec<Value> = own.as_array().cloned().unwrap_or_default();
    let is_added = pairs.action().starts_with("Associate");
    if !(1..=15).contains(&ids.len()) || ids.iter().any(|id| all.iter().any(|it| it == *id) == is_added) {
        return Err(bad("AdditionalCertificateIds", &ids.join(",")));
    }
    if is_added {
        all.extend(ids.into_iter().map(Value::from));
    } else {
        all.retain(|it| !ids.iter().any(|id| it == *id));
    }
    Ok(json!(all))
}

fn certificates(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let id = pairs.needed("ListenerId")?;
    let unknown = || refused(404, "ResourceNotFound.listener", "The specified resource listener is not found.");
    let listener = world.network_listeners.get(id).ok_or_else(unknown)?;
    let of = |name: &str, is_own: bool| {
        let all = listener[name].as_array().into_iter().flatten();
        let shown = move |it: &Value| json!({ "CertificateId": it, "CertificateType": "Server", "IsDefault": is_own, "Status": "Associated" });
        all.map(shown).collect::<Vec<_>>()
    };
    let all = [of("CertificateIds", true), of("AdditionalCertificateIds", false)].concat();
    world.count_read(id);
    Ok(listing::plain("Certificates", listing::by_token(pairs, all, "MaxResults", (20, 100))?))
}

fn create(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let token = pairs.text("ClientToken");
    let earlier = world.made_with("CreateListener", token).map(str::to_owned);
    if let Some(id) = earlier.filter(|it| world.network_listeners.get(it).is_some()) {
        return Ok(Answer::ok(&json!({ "ListenerId": id })));
    }
    let balancer = pairs.needed("LoadBalancerId")?;
    world.network_balancer(balancer)?;
    world.is_free("loadBalancer", balancer)?;
    let port = pairs.needed_number("ListenerPort", (0, 65_535))?;
    let protocol = pairs.word("ListenerProtocol", &["TCP", "UDP", "TCPSSL"])?;
    pairs.needed("ServerGroupId")?;
    if protocol == "TCPSSL" && pairs.list("CertificateIds").is_empty() {
        return Err(bad("CertificateIds", "TCPSSL needs one"));
    }
    let is_taken = world.network_listeners.of("LoadBalancerId", balancer).any(|(_, it)| {
        text(it, "ListenerPort") == port.to_string() && (it["ListenerProtocol"] == "UDP") == (protocol == "UDP")
    });
    if is_taken {
        return Err(refused(400, "ResourceAlreadyExist.Listener", "There is a listener at the port."));
    }
    let usual = json!({
        "LoadBalancerId": balancer, "ListenerStatus": "Provisioning", "IdleTimeout": "900", "Cps": "0", "RegionId": REGION,
        "ProxyProtocolEnabled": "false", "CaEnabled": "false", "AlpnEnabled": "false",
    });
    let body = listing::with(usual, &Value::Object(fields(world, pairs)?));
    let id = world.put_network_listener(body);
    world.remember("CreateListener", token, &id);
    let (own, taking) = (id.clone(), world.behaviour.job);
    let job = world.begin_job("CreateListener", &[balancer, &id], taking, move |world, succeeded| {
        if !succeeded {
            world.network_listeners.remove(&own);
        } else if let Some(it) = world.network_listeners.get_mut(&own) {
            it["ListenerStatus"] = json!("Running");
        }
    });
    Ok(Answer::ok(&json!({ "ListenerId": id, "JobId": job })))
}

impl World {
    /// Adds a listener to a Network Load Balancer, in texts as requests write them. Answers its id.
    pub fn put_network_listener(&mut self, body: Value) -> String {
        let (id, made) = (self.next("lsn-bp"), self.time());
        self.network_listeners.put(&id, made, listing::with(json!({ "ListenerId": id }), &body));
        id
    }
}

fn list(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let (balancers, ids) = (pairs.list("LoadBalancerIds"), pairs.list("ListenerIds"));
    let is_asked = |listener: &Value| {
        (balancers.is_empty() || balancers.contains(&text(listener, "LoadBalancerId")))
            && (ids.is_empty() || ids.contains(&text(listener, "ListenerId")))
    };
    let found = world.listed(|it| &it.network_listeners, is_asked);
    found.iter().for_each(|it| world.count_read(text(it, "ListenerId")));
    let part = answer_part("/nlb/ListListeners", &["Listeners", "*"]);
    let shown = found.iter().map(|it| fitting(part, it)).collect();
    Ok(listing::plain("Listeners", listing::by_token(pairs, shown, "MaxResults", (20, 100))?))
}
