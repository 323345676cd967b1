//! Target pools.

use serde_json::{Value, json};

use super::fields::{default, refer_all, resolved, word};
use crate::clouds::gcp::called::{Called, parsed};
use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, link};
use crate::clouds::gcp::world::{World, text, texts};

/// How many machines a new pool may have.
const AT_FIRST: usize = 200;
/// How many machines one call may add or take away.
const AT_ONCE: usize = 1_000;

pub(super) fn prepare(world: &World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    default(body, "sessionAffinity", json!("NONE"));
    word(body, "sessionAffinity", &["NONE", "CLIENT_IP", "CLIENT_IP_PROTO"])?;
    let checks = refer_all(world, place, body, "healthChecks", &[Collection::HttpHealthChecks])?;
    if checks.len() > 1 {
        return Err(errors::invalid("resource.healthChecks", "", "A pool has one health check at most."));
    }
    let machines = refer_all(world, place, body, "instances", &[Collection::Instances])?;
    if machines.len() > AT_FIRST {
        let why = format!("A new pool has at most {AT_FIRST} instances.");
        return Err(errors::invalid("resource.instances", &machines.len().to_string(), &why));
    }
    Ok(())
}

pub(super) fn call(world: &mut World, called: &Called<'_>, verb: &str) -> Result<(), Refusal> {
    let asked = parsed(called.request)?;
    let (list, one, key, of) = match verb {
        "addInstance" | "removeInstance" => ("instances", "instance", "instances", Collection::Instances),
        "addHealthCheck" | "removeHealthCheck" => {
            ("healthChecks", "healthCheck", "healthChecks", Collection::HttpHealthChecks)
        }
        _ => return Err(errors::not_found(&called.path())),
    };
    let named: Vec<_> = asked[list].as_array().into_iter().flatten().map(|it| text(it, one).to_owned()).collect();
    if named.is_empty() {
        return Err(errors::required(list));
    }
    if named.len() > AT_ONCE {
        return Err(errors::invalid(list, &named.len().to_string(), &format!("At most {AT_ONCE} may be named.")));
    }
    let adds = verb.starts_with("add");
    let links = if adds {
        let paths = named.iter().map(|it| resolved(world, called.place, it, one, &[of]));
        paths.map(|it| it.map(|it| link(&it))).collect::<Result<Vec<_>, _>>()?
    } else {
        // Also those of machines that are gone.
        let path = |it: &String| crate::clouds::gcp::place::referred(it, &called.place.project);
        named.iter().filter_map(path).map(|it| link(&it)).collect()
    };
    let Some(pool) = world.get_mut(&called.path()) else { return Ok(()) };
    let mut all: Vec<String> = texts(pool, key).map(str::to_owned).collect();
    if adds {
        all.extend(links.into_iter().filter(|it| !texts(pool, key).any(|there| there == it)));
    } else {
        all.retain(|it| !links.contains(it));
    }
    pool[key] = json!(all);
    Ok(())
}
