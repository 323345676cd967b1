//! The provider before a resource manager in memory.

mod arm;
mod links;
mod lookup;

pub(crate) use self::arm::{FakeArm, SUBSCRIPTION, rg};

use aerostat_sdk::testing::{FakeMoment, Host, Location, Outcome, answer};

/// The settings of a cluster in westeurope.
pub(crate) const SETTINGS: [(&str, &str); 7] = [
    ("subscriptionId", SUBSCRIPTION),
    ("resourceGroup", "rg1"),
    ("location", "westeurope"),
    ("vnetName", "vnet1"),
    ("subnetName", "subnet1"),
    ("securityGroupName", "nsg1"),
    ("routeTableName", "rt1"),
];

/// A host with these settings that sends nothing yet.
pub(crate) fn settings() -> Host {
    SETTINGS.iter().fold(Host::new(), |it, (name, value)| it.setting(name, value))
}

/// A refusal of the API.
pub(crate) fn refused(status: u16, code: &str) -> Outcome {
    answer(status, serde_json::json!({ "error": { "code": code, "message": format!("it is {code}") } }).to_string())
}

/// Writes of a test.
const WRITES: u64 = 300;

/// A host before this cloud, whose lists have pages, and whose writes have operations.
pub(crate) fn host(cloud: FakeArm) -> (Host, std::rc::Rc<std::cell::RefCell<FakeArm>>) {
    let (count, page) = (cloud.count(), cloud.page);
    let lists = cloud.lists();
    let cloud = std::rc::Rc::new(std::cell::RefCell::new(cloud));
    let answering = std::rc::Rc::clone(&cloud);
    let mut host = settings();
    for list in lists {
        for past in (page..count.max(page)).step_by(page) {
            let location = Location {
                endpoint: "network".to_owned(),
                path: list.trim_start_matches('/').split('/').map(str::to_owned).collect(),
                query: vec![("api-version".to_owned(), "x".to_owned()), ("$skipToken".to_owned(), past.to_string())],
            };
            host = host.resolves(&arm::next_link(&list, past), location);
        }
    }
    for number in 0..WRITES {
        let (url, path) = arm::operation(number);
        host = host.resolves(&url, Location { endpoint: "network".to_owned(), path, query: Vec::new() });
    }
    let host = host.answers(move |request| {
        let mut cloud = answering.borrow_mut();
        cloud.clock += 1;
        let now = cloud.clock;
        Ok(aerostat_sdk::testing::FakeCloud::answer(&mut *cloud, request, FakeMoment { now, lists_lag: false }))
    });
    (host, cloud)
}
