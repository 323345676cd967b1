//! A provider with routes, an inventory and volumes that lies about them. The setting `lie` names the lie; a cursor, a
//! node's or a volume's name may name another.

mod hiding;

use std::time::Duration;

use aerostat_sdk::{
    Description, Error, Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, IpFamily,
    LoadBalancerInventory, MarkedOwner, PersistentVolumes, PodNetwork, Proof, Provider, Result, Route, RouteChange,
    RouteDescription, RouteOutcome, RoutePage, RouteState, Routes, Setting, Topology, TopologyDescription, Volume,
    settings,
};

struct Lying;

aerostat_sdk::export!(Lying: Provider, Routes, LoadBalancerInventory, PersistentVolumes);

/// Line ends, and what hides text or turns its direction.
const FORGED: &str = "a\n1999-01-01T00:00:00Z INFO forged\u{1b}[2J\u{202e}\u{2028}";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

fn lie() -> Result<String> {
    Ok(settings::find("lie")?.unwrap_or_default())
}

impl Provider for Lying {
    fn describe() -> Result<Description> {
        Ok(Description::new("lying", "1.0.0")
            .provider_id_prefix("lying://")
            .setting(Setting::optional("lie", "Which lie to tell.")))
    }
}

impl Routes for Lying {
    fn describe() -> Result<RouteDescription> {
        let honest = RouteDescription::new([IpFamily::Ipv4, IpFamily::Ipv6]).batch_size(10).entries_per_route(2);
        Ok(match &*lie()? {
            "no-batch" => honest.batch_size(0),
            "large-batch" => honest.batch_size(1_001),
            "many-calls" => honest.concurrency(17),
            "many-entries" => honest.entries_per_route(65),
            "no-family" => RouteDescription::new([]),
            "refused" => return Err(Error::invalid(FORGED)),
            "crash" => panic!("it crashes when asked about routes"),
            _ => honest,
        })
    }

    fn next_hop(network: &PodNetwork) -> Result<String> {
        match &*network.node.name {
            "forged" => Ok(FORGED.to_owned()),
            "empty" => Ok(String::new()),
            "endless" => Ok("x".repeat(1 << 16)),
            "crash" => panic!("it crashes over one node"),
            "same" => Ok("192.0.2.1".to_owned()),
            "none" => Err(Error::invalid(format_args!("no route can lead to {FORGED}"))),
            name => Ok(format!("hop-of-{name}")),
        }
    }

    fn next_hops(networks: &[PodNetwork]) -> Vec<Result<String>> {
        if networks.iter().any(|it| it.node.name == "too-few") {
            return Vec::new();
        }
        networks.iter().map(Self::next_hop).collect()
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let lie = lie()?;
        let honest = Route::new("10.244.0.0/24", "hop-of-a");
        let number: u64 = cursor.and_then(|it| it.parse().ok()).unwrap_or(0);
        Ok(match &*lie {
            "endless" => RoutePage::new(
                (0..limit)
                    .map(|nth| Route::new(format!("10.{}.{}.0/24", number % 256, nth % 256), "hop-of-a"))
                    .collect(),
                Some((number + 1).to_string()),
            ),
            "too-many" => RoutePage::new((0..=limit).map(|_| honest.clone()).collect(), None),
            "itself" => RoutePage::new(Vec::new(), Some("itself".to_owned())),
            "long-cursor" => RoutePage::new(Vec::new(), Some("x".repeat(5_000))),
            "one-unusable" => RoutePage::new(vec![honest, Route::new("10.244.1.0/33", "hop-of-b")], None),
            "forged-id" => RoutePage::new(vec![honest.id(FORGED)], None),
            "forged-reason" => RoutePage::new(vec![honest.state(RouteState::Failed(FORGED.to_owned()))], None),
            "incomplete" => RoutePage::new(vec![honest], None).incomplete(FORGED),
            "hides" => {
                hiding::pages("routes");
                RoutePage::new(vec![honest], None)
            }
            _ => RoutePage::new(vec![honest], None),
        })
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let about = |it: &RouteChange| it.after.as_ref().map(|it| it.node.name.clone()).unwrap_or_default();
        if changes.iter().any(|it| about(it) == "too-few") {
            return Vec::new();
        }
        let outcome = |change: &RouteChange| match &*about(change) {
            "crash" => panic!("it crashes over one change"),
            "impatient" => Ok(RouteOutcome::pending(Duration::ZERO, FORGED)),
            "patient" => Ok(RouteOutcome::pending(Duration::MAX, "")),
            "full" => Err(Error::invalid("the route table is full")),
            _ if change.before.is_some() => {
                hiding::deletion("routes", &change.destination);
                Ok(RouteOutcome::Done)
            }
            _ => Ok(RouteOutcome::Done),
        };
        changes.iter().map(outcome).collect()
    }
}

impl LoadBalancerInventory for Lying {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(u32::from(lie()? != "no-page") * 50, true))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage> {
        let owner = MarkedOwner { uid: Some(UID.to_owned()), ..MarkedOwner::default() };
        let honest = InventoryItem {
            memo: Some("lb-1".to_owned()),
            revision: Some("r1".to_owned()),
            ..InventoryItem::new("load balancer 1", owner, Proof::Unique)
        };
        let number: u64 = cursor.and_then(|it| it.parse().ok()).unwrap_or(0);
        let one = |it: InventoryItem| InventoryPage::new(vec![honest.clone(), it], None);
        Ok(match &*lie()? {
            "endless" => InventoryPage::new(vec![honest], Some((number + 1).to_string())),
            "too-many" => InventoryPage::new((0..=limit).map(|_| honest.clone()).collect(), None),
            "itself" => InventoryPage::new(Vec::new(), Some("itself".to_owned())),
            "long-revision" => one(InventoryItem { revision: Some("x".repeat(65)), ..honest.clone() }),
            "long-outline" => one(honest.clone().outline("x".repeat(65))),
            "no-uid" => one(InventoryItem {
                owner: MarkedOwner { uid: Some("default/web".to_owned()), ..MarkedOwner::default() },
                ..honest.clone()
            }),
            "forged-name" => one(InventoryItem {
                owner: MarkedOwner { name: Some(FORGED.to_owned()), ..MarkedOwner::default() },
                ..honest.clone()
            }),
            "forged-object" => InventoryPage::new(
                vec![InventoryItem {
                    cloud_object: FORGED.to_owned(),
                    state: InventoryState::Failed(FORGED.to_owned()),
                    ..honest
                }],
                None,
            ),
            "forged-memo" => one(InventoryItem { memo: Some(FORGED.to_owned()), ..honest.clone() }),
            "no-address" => one(InventoryItem { ingress: vec![Ingress::ip("nowhere")], ..honest.clone() }),
            "incomplete" => InventoryPage::new(vec![honest], None).incomplete(FORGED),
            "hides" => {
                hiding::pages("load-balancers");
                InventoryPage::new(vec![honest], None)
            }
            _ => InventoryPage::new(vec![honest], None),
        })
    }
}

impl PersistentVolumes for Lying {
    fn describe() -> Result<TopologyDescription> {
        let honest = TopologyDescription::of_drivers(["csi.lying.example"]).batch_size(10);
        Ok(match &*lie()? {
            "no-volume-batch" => honest.batch_size(0),
            "forged-driver" => TopologyDescription::of_drivers([FORGED]),
            _ => honest.source("awsElasticBlockStore"),
        })
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        let honest = Topology::new(Some("r1".to_owned()), ["z1"]);
        Ok(match &*volume.handle {
            "nowhere" => None,
            "hidden" => {
                hiding::read("volumes", "hidden");
                None
            }
            "crash" => panic!("it crashes over one volume"),
            "many-zones" => Some(Topology::new(None, (0..17).map(|it| format!("z{it}")))),
            "forged-zone" => Some(Topology::new(None, [FORGED])),
            "empty-zone" => Some(Topology::new(None, [""])),
            "forged-label" => Some(Topology { labels: vec![("rack".to_owned(), FORGED.to_owned())], ..honest }),
            "many-places" => {
                let places = (0..17).map(|it| [("rack".to_owned(), it.to_string())]);
                Some(places.fold(honest, Topology::accessible_from))
            }
            _ => Some(honest),
        })
    }

    fn get_topologies(volumes: &[Volume]) -> Vec<Result<Option<Topology>>> {
        if volumes.iter().any(|it| it.handle == "too-few") {
            return Vec::new();
        }
        volumes.iter().map(Self::get_topology).collect()
    }
}
