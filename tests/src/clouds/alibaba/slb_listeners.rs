//! Listeners of Classic Load Balancers: a new one is stopped.

use serde_json::{Map, Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, missing, refused, unserved};
use super::listing::{self, TokenPage};
use super::pairs::{AcsPairs, text};
use super::published::{answer_part, fitting};
use super::world::World;

/// Where a list shows listeners.
const LIST: &str = "/slb/DescribeLoadBalancerListeners";

/// Names of requests that answers write in another way.
const RENAMED: [(&str, &str); 2] =
    [("HealthCheckSwitch", "HealthCheck"), ("healthCheckInterval", "HealthCheckInterval")];

/// Bounds of numbers, by the parameter: "CreateLoadBalancerTCPListener" and its like in the documentation of CLB.
const BOUNDS: [(&str, (i64, i64)); 12] = [
    ("Bandwidth", (-1, 5_120)),
    ("ConnectionDrainTimeout", (10, 900)),
    ("CookieTimeout", (1, 86_400)),
    ("EstablishedTimeout", (10, 900)),
    ("HealthCheckConnectPort", (-520, 65_535)),
    ("HealthCheckConnectTimeout", (1, 300)),
    ("HealthCheckInterval", (1, 50)),
    ("HealthyThreshold", (2, 10)),
    ("IdleTimeout", (1, 60)),
    ("PersistenceTimeout", (0, 3_600)),
    ("RequestTimeout", (1, 180)),
    ("UnhealthyThreshold", (2, 10)),
];

/// A number of a listener, which is kept as requests write it.
pub(super) fn number(listener: &Value, name: &str) -> Option<i64> {
    text(listener, name).parse().ok()
}

/// Answers a request about listeners of one load balancer, which exists.
pub(super) fn answer(world: &mut World, balancer: &str, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let port = pairs.needed_number("ListenerPort", (1, 65_535))?;
    let action = pairs.action();
    let of = |before: &str, after: &str| {
        let protocol = action.strip_prefix(before).and_then(|it| it.strip_suffix(after)).filter(|it| !it.is_empty());
        protocol.map(str::to_lowercase)
    };
    if let Some(protocol) = of("CreateLoadBalancer", "Listener") {
        create(world, balancer, port, &protocol, pairs)?;
    } else if let Some(protocol) = of("SetLoadBalancer", "ListenerAttribute") {
        change(world, balancer, port, &protocol, pairs)?;
    } else if let Some(protocol) = of("DescribeLoadBalancer", "ListenerAttribute") {
        let id = found(world, balancer, port, &protocol)?;
        let own = world.listeners.get(&id).cloned().unwrap_or_default();
        return Ok(Answer::ok(&fitting(answer_part(&format!("/slb/{action}"), &[]), &own)));
    } else {
        let id = found(world, balancer, port, &pairs.needed("ListenerProtocol")?.to_lowercase())?;
        let listener = world.listeners.get_mut(&id).expect("it was found");
        match action {
            "StartLoadBalancerListener" => listener["Status"] = json!("running"),
            "StopLoadBalancerListener" => listener["Status"] = json!("stopped"),
            "DeleteLoadBalancerListener" => {
                let gone = world.listeners.remove(&id);
                // One with udp may stand at the same number.
                if gone.is_some_and(|it| it["ListenerProtocol"] == "https") {
                    world.forget_domains(balancer, port);
                }
            }
            other => return Err(unserved(other)),
        }
    }
    world.configure(balancer);
    Ok(Answer::ok(&json!({})))
}

/// The id of a listener, here.
fn id(balancer: &str, port: i64, protocol: &str) -> String {
    format!("{balancer} {protocol} {port}")
}

/// The id of a listener that is there.
pub(super) fn found(world: &World, balancer: &str, port: i64, protocol: &str) -> Result<String, Refused> {
    let id = id(balancer, port, protocol);
    match world.listeners.get(&id) {
        Some(_) => Ok(id),
        None => Err(refused(404, "ListenerNotFound", "The specified listener does not exist.")),
    }
}

/// The fields that a request writes, each judged, under the names of answers.
fn written(world: &World, balancer: &str, pairs: AcsPairs<'_>) -> Result<Map<String, Value>, Refused> {
    let mut fields = Map::new();
    for (name, value) in pairs.all().filter(|(it, _)| *it != "RegionId" && *it != "VServerGroup") {
        let name = RENAMED.iter().find(|(it, _)| *it == name).map_or(name, |it| it.1);
        if let Some((_, (least, most))) = BOUNDS.iter().find(|(it, _)| *it == name)
            && !value.parse::<i64>().is_ok_and(|it| (*least..=*most).contains(&it))
        {
            return Err(bad(name, &format!("{value} is not between {least} and {most}")));
        }
        fields.insert(name.to_owned(), json!(value));
    }
    let group = pairs.get("VServerGroupId").filter(|it| !it.is_empty());
    if let Some(group) = group
        && world.groups.get(group).is_none_or(|it| it["LoadBalancerId"] != *balancer)
    {
        return Err(refused(404, "InvalidVServerGroupId.NotFound", "The specified VServerGroupId does not exist."));
    }
    let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    if word("AclStatus") == "on" && (world.access.get(word("AclId")).is_none() || word("AclType").is_empty()) {
        return Err(refused(400, "AclNotExist", "The specified access control list does not exist."));
    }
    if word("Description").len() > 256 {
        return Err(bad("Description", "it is longer than 256 characters"));
    }
    Ok(fields)
}

/// A listener with the fields of its sticky sessions: with them it needs what says of their cookie, and without them it has none.
fn sticky(mut listener: Value) -> Result<Value, Refused> {
    let needed = match (text(&listener, "StickySession"), text(&listener, "StickySessionType")) {
        ("on", "insert") => "CookieTimeout",
        ("on", "server") => "Cookie",
        ("on", _) => return Err(missing("StickySessionType")),
        _ => "",
    };
    if !needed.is_empty() && text(&listener, needed).is_empty() {
        return Err(missing(needed));
    }
    let all = ["StickySessionType", "CookieTimeout", "Cookie"];
    for name in all.iter().filter(|it| **it != needed && (needed.is_empty() || **it != "StickySessionType")) {
        if let Some(fields) = listener.as_object_mut() {
            fields.remove(*name);
        }
    }
    Ok(listener)
}

fn create(world: &mut World, balancer: &str, port: i64, protocol: &str, pairs: AcsPairs<'_>) -> Result<(), Refused> {
    let is_udp = protocol == "udp";
    let taken = world
        .listeners
        .of("LoadBalancerId", balancer)
        .any(|(_, it)| number(it, "ListenerPort") == Some(port) && (it["ListenerProtocol"] == "udp") == is_udp);
    if taken {
        return Err(refused(400, "ListenerAlreadyExists", "There is already a listener at the port."));
    }
    let is_forwarding = pairs.text("ListenerForward") == "on";
    let fields = written(world, balancer, pairs)?;
    if is_forwarding {
        let target = pairs.needed_number("ForwardPort", (1, 65_535))?;
        found(world, balancer, target, "https")?;
    } else if pairs.get("VServerGroupId").is_none() {
        return Err(missing("VServerGroupId"));
    }
    if protocol == "https" {
        pairs.needed("ServerCertificateId")?;
    }
    let listener = json!({ "LoadBalancerId": balancer, "ListenerProtocol": protocol, "Status": "stopped" });
    world.put_listener(sticky(listing::with(listener, &Value::Object(fields)))?);
    Ok(())
}

/// The fields of a listener that no request has to write, by its protocol: `tcp`.
#[must_use]
pub fn usual(protocol: &str) -> Value {
    let of_protocol = match protocol {
        "tcp" => json!({
            "HealthCheck": "on", "HealthCheckType": "tcp", "HealthCheckConnectTimeout": "5", "HealthCheckInterval": "2",
            "PersistenceTimeout": "0", "EstablishedTimeout": "900", "ConnectionDrain": "off",
            "ProxyProtocolV2Enabled": "false",
        }),
        "udp" => json!({
            "HealthCheck": "on", "HealthCheckConnectTimeout": "10", "HealthCheckInterval": "5",
            "ProxyProtocolV2Enabled": "false",
        }),
        _ => json!({ "StickySession": "off", "IdleTimeout": "15", "RequestTimeout": "60", "XForwardedFor": "on" }),
    };
    let of_all = json!({
        "Scheduler": "wrr", "AclStatus": "off", "HealthyThreshold": "3", "UnhealthyThreshold": "3", "Bandwidth": "-1",
    });
    listing::with(of_all, &of_protocol)
}

impl World {
    /// Adds a listener to a Classic Load Balancer, in texts as requests write them. What is not said of it is as usual.
    pub fn put_listener(&mut self, body: Value) {
        let protocol = text(&body, "ListenerProtocol").to_owned();
        let port = number(&body, "ListenerPort").unwrap_or_default();
        let (id, made) = (id(text(&body, "LoadBalancerId"), port, &protocol), self.time());
        self.listeners.put(&id, made, listing::with(usual(&protocol), &body));
    }
}

fn change(world: &mut World, balancer: &str, port: i64, protocol: &str, pairs: AcsPairs<'_>) -> Result<(), Refused> {
    let id = found(world, balancer, port, protocol)?;
    if pairs.get("VServerGroupId").is_some() && pairs.text("VServerGroup") != "on" {
        return Err(bad("VServerGroup", "with VServerGroupId it is on"));
    }
    let fields = written(world, balancer, pairs)?;
    if let Some(listener) = world.listeners.get_mut(&id) {
        *listener = sticky(listing::with(listener.clone(), &Value::Object(fields)))?;
    }
    Ok(())
}

/// `DescribeLoadBalancerListeners`.
pub(super) fn list(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let balancers = pairs.list("LoadBalancerId");
    balancers.iter().for_each(|it| world.count_read(it));
    let is_asked = |it: &Value| balancers.is_empty() || balancers.contains(&text(it, "LoadBalancerId"));
    let found = world.listeners.all().filter(|(_, it)| is_asked(it)).map(|(_, it)| shown(it)).collect();
    let TokenPage { items, next, .. } = listing::by_token(pairs, found, "MaxResults", (20, 100))?;
    Ok(Answer::ok(&json!({ "Listeners": items, "NextToken": next })))
}

/// As the list shows it: what the protocols have in common, and the rest in a part of its own.
fn shown(listener: &Value) -> Value {
    let config = format!("{}ListenerConfig", text(listener, "ListenerProtocol").to_uppercase());
    let mut shown = fitting(answer_part(LIST, &["Listeners", "*"]), listener);
    shown[&config] = fitting(answer_part(LIST, &["Listeners", "*", &config]), listener);
    if !text(listener, "AclId").is_empty() {
        shown["AclIds"] = json!([listener["AclId"]]);
    }
    shown
}
