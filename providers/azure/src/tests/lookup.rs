//! The machine of a node, lists of them, the account, and disks.

use aerostat_sdk::{
    Address, Error, Instance, Instances, Node, PersistentVolumes, Provider, Result, State, Topology, Volume, testing,
};
use serde_json::{Value, json};

use super::*;
use crate::Azure;

const MACHINE: &str = "Microsoft.Compute/virtualMachines/node-1";
const MEMBER: &str = "Microsoft.Compute/virtualMachineScaleSets/vs/virtualMachines/3";

fn cloud() -> FakeArm {
    let mut cloud = FakeArm::default();
    cloud.machine("node-1", 4);
    cloud.scale_set(5);
    cloud
}

fn node(words: &str) -> Node {
    Node::named("n").with_provider_id(format!("azure://{}", rg(words)))
}

fn get(cloud: FakeArm, node: &Node) -> Result<Option<Instance>> {
    host(cloud).0.run(|| Azure::get(node))
}

/// The answer about a machine that is changed.
fn changed(words: &str, change: impl FnOnce(&mut Value)) -> Option<Instance> {
    let mut cloud = cloud();
    cloud.touch(words, change);
    get(cloud, &node(words)).unwrap()
}

/// All machines, page by page.
fn all(host: &Host) -> Vec<Instance> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = host.run(|| Azure::list(cursor.as_deref(), 500)).unwrap();
        assert_eq!(page.gaps, []);
        found.extend(page.instances);
        cursor = page.next;
        if cursor.is_none() {
            return found;
        }
    }
}

#[test]
fn azure_001_members_of_scale_sets_run() {
    let (host, _) = host(cloud());
    let listed = all(&host);
    let member = listed.iter().find(|it| it.name == "aks-np-000003").unwrap();
    assert_eq!(member.provider_id.as_deref(), Some(&*format!("azure://{}", rg(MEMBER))));
    assert_eq!(member.state, State::Running);
    let asked = get(cloud(), &node(MEMBER)).unwrap();
    assert_eq!(asked.as_ref(), Some(member), "a list and a question say the same");
}

#[test]
fn azure_002_and_004_a_machine_that_the_api_lacks_is_gone() {
    let missing = "Microsoft.Compute/virtualMachineScaleSets/vs/virtualMachines/9";
    let (host, _) = host(cloud());
    assert_eq!(host.run(|| Azure::get(&node(missing))), Ok(None));
    let asked = "GET compute /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg1/providers/Microsoft.Compute/\
                 virtualMachineScaleSets/vs/virtualMachines/9?api-version=2025-04-01&$expand=instanceView";
    assert_eq!(host.requests(), [asked]);
    for code in ["ParentResourceNotFound", "ResourceNotFound", "InstanceNotFound"] {
        let host = settings().answers(move |_| refused(404, code));
        assert_eq!(host.run(|| Azure::get(&node(MEMBER))), Ok(None), "{code}");
    }
}

#[test]
fn azure_003_a_machine_behind_an_error_is_not_gone() {
    for (status, code) in [
        (429, ""),
        (500, ""),
        (409, "Conflict"),
        (404, "ResourceGroupNotFound"),
        (404, ""),
        (401, "ExpiredAuthenticationToken"),
    ] {
        let host = settings().answers(move |_| refused(status, code));
        assert!(host.run(|| Azure::get(&node(MEMBER))).is_err(), "{status} {code}");
        assert!(host.run(|| Azure::list(None, 500)).is_err(), "{status} {code}");
    }
    let empty = settings().answers(|_| answer(200, ""));
    assert!(matches!(empty.run(|| Azure::list(None, 500)), Err(Error::Unavailable(_))));
}

#[test]
fn azure_005_to_007_power_states() {
    let power = |code: &str, provisioning: &str| {
        changed(MEMBER, |entry| {
            entry["properties"]["instanceView"]["statuses"][1]["code"] = json!(code);
            entry["properties"]["provisioningState"] = json!(provisioning);
        })
        .map(|it| it.state)
    };
    for code in ["PowerState/stopped", "PowerState/deallocated", "PowerState/deallocating", "powerstate/Deallocated"] {
        assert_eq!(power(code, "Succeeded"), Some(State::Stopped), "{code}");
        assert_eq!(power(code, "Updating"), Some(State::Running), "{code}");
    }
    for code in ["PowerState/running", "PowerState/starting", "PowerState/stopping", "PowerState/unknown"] {
        assert_eq!(power(code, "Succeeded"), Some(State::Running), "{code}");
    }
    assert_eq!(power("PowerState/running", "Deleting"), None);
    assert!(changed(MACHINE, |it| it["properties"]["provisioningState"] = json!("Deleting")).is_some());
}

#[test]
fn azure_008_unmanaged_nodes_are_left_alone() {
    let mut node = node(MACHINE);
    node.labels.push((crate::instances::MANAGED.to_owned(), "false".to_owned()));
    let found = Host::new().run(|| Azure::get(&node)).unwrap().unwrap();
    assert_eq!((found.addresses.len(), found.state, found.provider_id), (0, State::Running, node.provider_id));
}

#[test]
fn azure_012_nodes_without_ids_are_found_by_computer_names() {
    let mut cloud = cloud();
    cloud.touch(MEMBER, |it| it["properties"]["osProfile"]["computerName"] = json!("AKS-NP-000003"));
    let (host, _) = host(cloud);
    let found = host.run(|| Azure::get(&Node::named("aks-np-000003"))).unwrap().unwrap();
    assert_eq!((found.provider_id, &*found.name), (Some(format!("azure://{}", rg(MEMBER))), "aks-np-000003"));
    assert_eq!(host.run(|| Azure::get(&Node::named("aks-np-000099"))), Ok(None));
}

#[test]
fn azure_013_zones_and_fault_domains() {
    let place = |change: fn(&mut Value)| {
        let found = changed(MACHINE, change).unwrap();
        (found.zone.unwrap(), found.region.unwrap())
    };
    let owned = |zone: &str, region: &str| (zone.to_owned(), region.to_owned());
    assert_eq!(place(|it| it["location"] = json!("West US 2")), owned("westus2-1", "westus2"));
    assert_eq!(place(|it| it["zones"] = json!([])), owned("1", "westeurope"));
}

#[test]
fn azure_014_addresses_come_from_lists() {
    let mut cloud = cloud();
    let pip = rg("Microsoft.Network/publicIPAddresses/node-1-ip");
    cloud.put(&pip, json!({ "properties": { "ipAddress": "20.1.1.1" } }));
    cloud.touch("Microsoft.Network/networkInterfaces/node-1-nic", |entry| {
        entry["properties"]["ipConfigurations"][0]["properties"]["publicIPAddress"] =
            json!({ "id": pip.to_uppercase() });
    });
    let (host, _) = host(cloud.clone());
    let found = all(&host).into_iter().find(|it| it.name == "node-1").unwrap();
    let expected = [Address::internal_ip("10.240.0.4"), Address::external_ip("20.1.1.1"), Address::hostname("node-1")];
    assert_eq!(found.addresses, expected);
    assert!(host.requests().iter().all(|it| !it.contains("node-1-nic")));
}

#[test]
fn azure_015_two_thousand_machines_are_pages_of_lists() {
    let mut cloud = FakeArm::default();
    cloud.scale_set(2_000);
    cloud.page = 500;
    let (host, _) = host(cloud);
    assert_eq!(all(&host).len(), 2_000);
    let mut requests = host.requests();
    requests.sort();
    requests.dedup();
    // Lists that are asked for twice are answered by the host from memory.
    assert_eq!(requests.len(), 2 + 4 + 4, "scale sets, machines, and pages of members and of their interfaces");
}

#[test]
fn azure_016_limits_of_one_api_do_not_stop_the_other() {
    let host = settings().answers(|_| refused(429, "TooManyRequests"));
    assert!(matches!(host.run(|| Azure::get(&node(MEMBER))), Err(Error::RetryAfter(_))));
    assert!(host.throttles().iter().all(|it| it.starts_with("compute ")) && host.throttles().len() == 1);
}

#[test]
fn small_pages_and_late_interfaces_lose_nobody() {
    let (host, cloud) = host(cloud());
    let first = host.run(|| Azure::list(None, 1)).unwrap();
    let second = host.run(|| Azure::list(first.next.as_deref(), 2)).unwrap();
    let third = host.run(|| Azure::list(second.next.as_deref(), 2)).unwrap();
    let names: Vec<_> = [first, second, third].into_iter().flat_map(|it| it.instances).map(|it| it.name).collect();
    assert_eq!(names, ["node-1", "aks-np-000000", "aks-np-000001", "aks-np-000002", "aks-np-000003"]);
    cloud.borrow_mut().objects.remove(&rg("Microsoft.Network/networkInterfaces/node-1-nic").to_ascii_lowercase());
    let page = host.run(|| Azure::list(None, 500)).unwrap();
    assert_eq!((page.instances.len(), page.gaps.len()), (0, 1));
    for cursor in ["", "x", "[1]", "[\"\",-1,null]"] {
        assert!(matches!(host.run(|| Azure::list(Some(cursor), 500)), Err(Error::Invalid(_))), "{cursor}");
    }
}

#[test]
fn masks_of_pod_networks_are_tags_of_scale_sets() {
    let mut cloud = cloud();
    cloud.touch("Microsoft.Compute/virtualMachineScaleSets/vs", |entry| {
        entry["tags"] = json!({ "KubernetesNodeCIDRMaskIPv4": "25", "kubernetesNodeCIDRMaskIPV6": "x" })
    });
    let found = get(cloud, &node(MEMBER)).unwrap().unwrap();
    let extra: Vec<&str> = found.extra.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(extra, ["interface", "scale-set", "node-ipam.mask-ipv4"]);
    assert!(found.extra.contains(&("node-ipam.mask-ipv4".to_owned(), "25".to_owned())));
}

#[test]
fn machines_of_all_kinds_name_their_sets() {
    let set = |instance: Option<Instance>| {
        let extra = instance.unwrap().extra;
        extra.into_iter().find(|(key, _)| key == "scale-set").map(|(_, set)| set)
    };
    assert_eq!(set(get(cloud(), &node(MEMBER)).unwrap()).as_deref(), Some("vs"));
    assert_eq!(set(get(cloud(), &node(MACHINE)).unwrap()), None);
    let in_set = |field: &'static str, kind: &'static str| {
        changed(MACHINE, move |shown| {
            shown["properties"][field] = json!({ "id": rg(&format!("Microsoft.Compute/{kind}/AS1")) })
        })
    };
    assert_eq!(set(in_set("availabilitySet", "availabilitySets")).as_deref(), Some("as1"));
    assert_eq!(set(in_set("virtualMachineScaleSet", "virtualMachineScaleSets")).as_deref(), Some("as1"));
}

#[test]
fn identity_is_subscriptions_group_and_network() {
    let (host, cloud) = host(cloud());
    let identity = || host.run(Azure::identity);
    let one = "subscription 11111111-2222-3333-4444-555555555555, resource group rg1, region westeurope, virtual network aaaa-1";
    assert_eq!(identity().unwrap().as_deref(), Some(one));
    cloud.borrow_mut().objects.clear();
    assert!(matches!(identity(), Err(Error::Invalid(why)) if why.contains("vnetName")));
}

#[test]
fn disks_are_in_their_zones() {
    let disk = rg("Microsoft.Compute/disks/data-1");
    let ask = |shown: Option<Value>, handle: &str| {
        let volume = Volume {
            name: "pv".to_owned(),
            source: "disk.csi.azure.com".to_owned(),
            handle: handle.to_owned(),
            attributes: Vec::new(),
            extra: Vec::new(),
        };
        let mut cloud = FakeArm::default();
        shown.into_iter().for_each(|it| cloud.put(&disk, it));
        host(cloud).0.run(|| Azure::get_topology(&volume))
    };
    let shown = |sku: &str| json!({ "location": "westeurope", "zones": ["2"], "sku": { "name": sku } });
    let zone = ("topology.disk.csi.azure.com/zone".to_owned(), "westeurope-2".to_owned());
    let place = Topology::new(Some("westeurope".to_owned()), ["westeurope-2"]).accessible_from([zone]);
    assert_eq!(
        ask(Some(shown("Premium_LRS")), &disk.to_uppercase().replace("/SUBSCRIPTIONS", "/subscriptions")),
        Ok(Some(place))
    );
    let region = Topology::new(Some("westeurope".to_owned()), [""; 0]);
    assert_eq!(ask(Some(shown("Premium_ZRS")), &disk), Ok(Some(region)));
    assert_eq!(ask(None, &disk), Ok(None));
    for handle in ["", "data-1", &rg("Microsoft.Compute/disks/.."), &rg(MACHINE)] {
        assert!(matches!(ask(None, handle), Err(Error::Invalid(_))), "{handle}");
    }
}

#[test]
fn the_description_has_no_warnings() {
    let description = settings().run(<Azure as Provider>::describe).unwrap();
    assert_eq!(testing::warnings(&description), [""; 0]);
    assert_eq!(&*description.name, "azure");
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = settings().run(<Azure as Provider>::describe).unwrap();
    let filled =
        aerostat_sdk::readme::filled(include_str!("../../README.md"), &description, "service.beta.kubernetes.io/");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../../README.md"].assert_eq(&filled);
}
