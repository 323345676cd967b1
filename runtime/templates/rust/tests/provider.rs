//! The provider with its cloud in memory.

mod cloud;

use aerostat_sdk::testing::protocol::ForeignChange;
use aerostat_sdk::testing::{self, Host, SimulatedCloud};
use aerostat_sdk::{Instances, Node, Provider, State};
use cloud::Cloud;
use newcloud::NewCloud;

/// A host with a cloud in which these machines run.
fn host(machines: &[&str]) -> Host {
    let mut cloud = SimulatedCloud::new(Cloud::default());
    for name in machines {
        cloud.change(&ForeignChange::AddMachine {
            name: (*name).to_owned(),
        });
    }
    Host::of(&cloud.shared())
}

#[test]
fn its_description_has_no_mistake_that_can_be_seen() {
    let description = Host::new().run(NewCloud::describe).unwrap();
    assert_eq!(testing::warnings(&description), [""; 0]);
}

#[test]
fn a_machine_is_found_by_its_nodes_name_and_by_its_id() {
    let host = host(&["web-1", "web-2"]);
    let found = host
        .run(|| NewCloud::get(&Node::named("web-2")))
        .unwrap()
        .unwrap();
    assert_eq!((&*found.name, found.state), ("web-2", State::Running));
    let initialised = Node::named("web-2").with_provider_id(found.provider_id.clone().unwrap());
    assert_eq!(host.run(|| NewCloud::get(&initialised)), Ok(Some(found)));
    assert_eq!(host.run(|| NewCloud::get(&Node::named("web-3"))), Ok(None));
}

#[test]
fn every_promise_is_kept_whatever_is_lost_on_the_way() {
    assert_eq!(testing::converge::<NewCloud, _>(Cloud::default), [""; 0]);
}
