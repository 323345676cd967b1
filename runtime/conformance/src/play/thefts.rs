//! Services that would have what is another's.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::host::{HostProcess, OTHER_CLUSTER};
use crate::protocol::{ClaimingAnnotation, CloudObject, ForeignChange, Held, TaggingAnnotation};
use crate::transcript::{Forgery, Theft};
use crate::trouble::Phase;

use super::lives::{settle, settle_or_stand_still};
use super::service::PlayedService;
use super::stage::Stage;
use super::touched::new;

/// The name of the load balancer that nobody's provider has made.
const FOREIGN: &str = "foreign";
/// Whose that one is.
const NOBODYS: &str = "nobody's";

/// All thefts and forgeries, beside the load balancer of an honest Service, which goes in the end.
pub(crate) async fn play(stage: &mut Stage) -> Result<(Vec<Theft>, Option<Vec<Forgery>>)> {
    let mut process = stage.process().await?;
    let nodes = stage.nodes(&process).await;
    let foreign = stage.admin.change(&ForeignChange::AddForeign { name: FOREIGN.to_owned() }).await?;
    let mut victim = PlayedService::new("web", &nodes[..1], stage.host.setup());
    let earlier = stage.objects().await?;
    settle(stage, &mut process, &mut victim, Phase::Create).await?;
    let owned: Vec<_> = stage.objects().await?.into_iter().filter(|it| !earlier.contains(it)).collect();

    let mut thefts = Vec::new();
    let thief = || PlayedService::new("web", &nodes[..1], stage.host.setup());
    let (again, never, elsewhere) = (thief(), thief(), thief());
    thefts.push(steal(stage, &mut process, again, "a Service of the same name, with another UID", true).await?);
    thefts.push(
        steal(stage, &mut process, never, "a deletion of what was never made, under the same name", false).await?,
    );
    let mut other = stage.host.process(OTHER_CLUSTER).await?;
    let title = "a Service of the same name, in another cluster of the same name";
    thefts.push(steal(stage, &mut other, elsewhere, title, true).await?);

    let foreign = foreign.and_then(|it| it.id).map(|id| (id, FOREIGN.to_owned(), NOBODYS));
    let balancer = owned.iter().find(|it| it.kind.contains("load balancer")).or_else(|| owned.first());
    let shares = stage.host.setup().shares.clone();
    let balancer = balancer.map(|CloudObject { id, name, .. }| (id.clone(), name.clone(), "another Service's"));
    for ClaimingAnnotation { annotation, holds } in stage.host.setup().claims.clone() {
        for (id, name, whose) in foreign.iter().chain(&balancer) {
            let may_share = shares.as_ref() == Some(&annotation) && *whose == NOBODYS;
            let value = match holds {
                Held::Id => id,
                Held::Name => name,
            };
            let mut owner = PlayedService::new("owner", &nodes[..1], stage.host.setup());
            settle(stage, &mut process, &mut owner, Phase::Create).await?;
            let own = stage.objects().await?;
            owner.annotate(&annotation, value);
            let title = format!("a Service with one of its own that claims {whose} load balancer by {annotation}");
            let theft = steal(stage, &mut process, owner, &title, true).await?;
            thefts.push(Theft {
                before: own.into_iter().filter(|it| earlier.contains(it) || owned.contains(it)).collect(),
                may_share,
                ..theft
            });
            for ensures in [true, false] {
                let mut thief = PlayedService::new("thief", &nodes[..1], stage.host.setup());
                thief.annotate(&annotation, value);
                let deed = if ensures { "a Service that claims" } else { "a deletion that claims" };
                let title = format!("{deed} {whose} load balancer by {annotation}");
                let theft = steal(stage, &mut process, thief, &title, ensures).await?;
                thefts.push(Theft { may_share, ..theft });
            }
        }
    }
    let address = victim.desired.current_ingress.iter().find_map(|it| it.ip.clone());
    for ensures in address.iter().flat_map(|_| [true, false]) {
        let mut thief = PlayedService::new("thief", &nodes[..1], stage.host.setup());
        thief.desired.load_balancer_ip.clone_from(&address);
        let deed = if ensures { "a Service that claims" } else { "a deletion that claims" };
        let title = format!("{deed} another Service's load balancer by loadBalancerIP");
        thefts.push(steal(stage, &mut process, thief, &title, ensures).await?);
    }
    let forgeries = match stage.host.setup().tags.clone() {
        Some(tags) => Some(forge(stage, &mut process, &owned, &tags).await?),
        None => None,
    };
    settle(stage, &mut process, &mut victim, Phase::Delete).await?;
    Ok((thefts, forgeries))
}

/// Two Services whose authors write what the load balancers of `victims` have for tags: one from the start, and one when it has its
/// own.
async fn forge(
    stage: &mut Stage,
    process: &mut HostProcess,
    victims: &[CloudObject],
    TaggingAnnotation { annotation, at }: &TaggingAnnotation,
) -> Result<Vec<Forgery>> {
    let of = |objects: &[CloudObject]| objects.iter().map(|it| tags(it, at)).find(|it| !it.is_empty());
    let victim = of(victims).unwrap_or_default();
    let forged = victim.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
    let nodes = stage.nodes(process).await;
    let mut forgeries = Vec::new();
    let mut honest = BTreeMap::new();
    for is_new in [false, true] {
        let before = stage.objects().await?;
        let mut forger = PlayedService::new("forger", &nodes[..1], stage.host.setup());
        if !is_new {
            settle(stage, process, &mut forger, Phase::Create).await?;
            honest = of(&new(&before, stage.objects().await?)).unwrap_or_default();
        }
        forger.annotate(annotation, &forged);
        settle(stage, process, &mut forger, Phase::Create).await?;
        let made = new(&before, stage.objects().await?);
        let made = made.iter().map(|it| (format!("{} {}", it.kind, it.id), tags(it, at))).collect();
        settle(stage, process, &mut forger, Phase::Delete).await?;
        let which = if is_new { "a new Service" } else { "a Service with one of its own" };
        let title = format!("{which} whose {annotation} holds another's marks");
        forgeries.push(Forgery { title, honest: honest.clone(), victim: victim.clone(), made });
    }
    Ok(forgeries)
}

/// The tags of an object, of which this part of its body tells.
fn tags(object: &CloudObject, at: &str) -> BTreeMap<String, String> {
    let tags = object.body.pointer(at).and_then(serde_json::Value::as_object);
    tags.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

async fn steal(
    stage: &mut Stage,
    process: &mut HostProcess,
    mut thief: PlayedService,
    title: &str,
    ensures: bool,
) -> Result<Theft> {
    let before = stage.objects().await?;
    if ensures {
        settle_or_stand_still(stage, process, &mut thief, Phase::Create).await?;
    }
    let held = stage.objects().await?;
    settle_or_stand_still(stage, process, &mut thief, Phase::Delete).await?;
    let after = stage.objects().await?;
    Ok(Theft { title: title.to_owned(), before, held, after, may_share: false })
}
