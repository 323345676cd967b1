//! Rules of each kind, as tables: what is refused, in which words, and what follows from other resources.

use serde_json::{Value, json};
use tests::clouds::azure::{Kind, Options};

use crate::asked::Asked;

/// A load balancer with an address, a pool and one rule, and its address beside it.
const BALANCER: &str = r#"{"location":"westeurope","sku":{"name":"Standard"},"properties":{
    "frontendIPConfigurations":[{"name":"f","properties":{"publicIPAddress":{"id":"@Network/publicIPAddresses/p"}}}],
    "backendAddressPools":[{"name":"b","properties":{}}],
    "probes":[{"name":"h","properties":{"protocol":"Tcp","port":30080,"intervalInSeconds":5,"probeThreshold":2}}],
    "loadBalancingRules":[{"name":"r","properties":{"protocol":"Tcp","frontendPort":80,"backendPort":80,"enableFloatingIP":true,
        "frontendIPConfiguration":{"id":"@Network/loadBalancers/l/frontendIPConfigurations/f"},
        "backendAddressPool":{"id":"@Network/loadBalancers/l/backendAddressPools/b"},
        "probe":{"id":"@Network/loadBalancers/l/probes/h"}}}]}}"#;
const ADDRESS: &str =
    r#"{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}"#;

/// An Azure with that load balancer.
async fn ground() -> Asked {
    let asked = Asked::instant().await;
    asked.done(&format!("PUT Network/publicIPAddresses/p {ADDRESS}")).await;
    asked.done(&format!("PUT Network/loadBalancers/l {BALANCER}")).await;
    asked
}

/// The load balancer of [`ground`] with something else in it.
fn changed(from: &str, to: &str) -> String {
    assert!(BALANCER.contains(from), "{from}");
    format!("PUT Network/loadBalancers/l {}", BALANCER.replace(from, to))
}

fn rule(name: &str, more: &str) -> String {
    format!(
        r#"PUT Network/networkSecurityGroups/nsg1 {{"location":"westeurope","properties":{{"securityRules":[{{"name":"{name}","properties":{{
        "direction":"Inbound","access":"Allow","protocol":"Tcp","sourcePortRange":"*","destinationPortRanges":["80"],
        "destinationAddressPrefix":"*"{more}}}}}]}}}}"#
    )
}

#[tokio::test]
async fn a_missing_resource_is_told_in_azures_words() {
    let asked = Asked::instant().await;
    for (line, told) in [
        ("GET Network/loadBalancers/l", "404 ResourceNotFound"),
        ("GET Network/virtualNetworks/vnet1/subnets/nowhere", "404 NotFound"),
        ("GET Network/virtualNetworks/vnet2/subnets/subnet1", "404 ParentResourceNotFound"),
        ("GET Compute/virtualMachineScaleSets/vs/virtualMachines/3", "404 ParentResourceNotFound"),
        ("GET Compute/virtualMachineScaleSets/vs/networkInterfaces", "404 ResourceNotFound"),
        ("DELETE Network/loadBalancers/l", "204"),
        (r#"PUT Network/loadBalancers/l {"properties":{}}"#, "400 LocationRequired"),
        (r#"PUT Network/loadBalancers/l/backendAddressPools/b {"properties":{}}"#, "404 ParentResourceNotFound"),
    ] {
        assert_eq!(asked.line(line).await.short(), told, "{line}");
    }
    let get = http::Method::GET;
    let list = "providers/Microsoft.Network/loadBalancers";
    let subscription = format!("/subscriptions/{}", tests::clouds::azure::SUBSCRIPTION);
    for (path, told) in [
        (format!("{subscription}/resourceGroups/rg2/{list}?api-version=2025-05-01"), "404 ResourceGroupNotFound"),
        (format!("/subscriptions/s/resourceGroups/rg1/{list}?api-version=2025-05-01"), "404 SubscriptionNotFound"),
        (format!("{subscription}/resourceGroups/rg1/{list}"), "400 MissingApiVersionParameter"),
        (format!("{subscription}/resourceGroups/rg1/{list}?api-version=2099-01-01"), "400 NoRegisteredProviderFound"),
        (format!("{subscription}/{list}?api-version=2026-03-01"), "200"),
        (format!("{subscription}/providers/Microsoft.Compute?api-version=2021-04-01"), "200"),
        (format!("{subscription}/resourceGroups/RG1?api-version=2021-04-01"), "200"),
    ] {
        assert_eq!(asked.send(&get, &path, &[], None).await.short(), told, "{path}");
    }
}

#[tokio::test]
async fn a_load_balancer_is_refused_for_each_fault() {
    let asked = ground().await;
    asked.done(&format!("PUT Network/publicIPAddresses/q {ADDRESS}")).await;
    let second = r#"},{"name":"r2","properties":{"protocol":"Tcp","frontendPort":443,"backendPort":80,
        "frontendIPConfiguration":{"id":"@Network/loadBalancers/l/frontendIPConfigurations/f"},
        "backendAddressPool":{"id":"@Network/loadBalancers/l/backendAddressPools/b"}}}]}}"#;
    let internal = |properties: &str| {
        changed(
            r#"{"publicIPAddress":{"id":"@Network/publicIPAddresses/p"}}"#,
            &format!(r#"{{"subnet":{{"id":"@Network/virtualNetworks/vnet1/subnets/subnet1"}}{properties}}}"#),
        )
    };
    for (line, told) in [
        (changed("publicIPAddresses/p", "publicIPAddresses/none"), "400 InvalidResourceReference"),
        (changed("probes/h", "probes/none"), "400 InvalidResourceReference"),
        (changed("backendAddressPools/b\"", "backendAddressPools/none\""), "400 InvalidResourceReference"),
        (changed("publicIPAddresses/p", "publicIPAddresses/node-1-ip"), "400 PublicIPAddressInUse"),
        (changed("\"Standard\"", "\"Basic\""), "400 LoadBalancerAndPublicIPSkuMismatch"),
        (changed("\"intervalInSeconds\":5", "\"intervalInSeconds\":4"), "400 ProbeIntervalOutOfRange"),
        (changed("\"protocol\":\"Tcp\",\"port\"", "\"protocol\":\"Http\",\"port\""), "400 ProbeRequestPathMissing"),
        (changed("\"enableFloatingIP\":true", "\"idleTimeoutInMinutes\":200"), "400 IdleTimeoutOutOfRange"),
        (changed("}]}}", &second.replace("443", "80")), "400 RulesUseSameFrontendPortProtocolAndIPConfig"),
        (
            changed("\"enableFloatingIP\":true", "\"enableFloatingIP\":false").replace("}]}}", second),
            "400 RulesUseSameBackendPortProtocolAndPool",
        ),
        (changed("}]}}", second), "200"),
        (internal(""), "200"),
        (
            internal(r#","privateIPAllocationMethod":"Static","privateIPAddress":"10.99.0.1""#),
            "400 PrivateIPAddressNotInSubnet",
        ),
        (
            internal(r#","privateIPAllocationMethod":"Static","privateIPAddress":"10.240.0.4""#),
            "400 PrivateIPAddressIsAllocated",
        ),
        (internal(r#","privateIPAllocationMethod":"Static","privateIPAddress":"10.240.0.9""#), "200"),
        (
            changed("{\"name\":\"b\",\"properties\":{}}", "{\"name\":\"b\"},{\"name\":\"B\"}"),
            "400 DuplicateResourceName",
        ),
        (
            changed(
                "{\"name\":\"b\",\"properties\":{}}",
                r#"{"name":"b","properties":{"loadBalancerBackendAddresses":[{"name":"n","properties":{"ipAddress":"10.240.0.4"}}]}}"#,
            ),
            "400 LoadBalancerBackendAddressMissingVirtualNetwork",
        ),
    ] {
        let answer = asked.line(&line).await;
        assert_eq!(answer.short(), told, "{line}: {}", answer.body);
    }
    asked.cloud.behave(|it| it.rules = 1);
    assert_eq!(asked.line(&changed("}]}}", second)).await.short(), "400 RulesPerLoadBalancerLimitReached");
}

#[tokio::test]
async fn other_kinds_are_refused_for_each_fault() {
    let asked = ground().await;
    asked.cloud.behave(|behaviour| {
        behaviour.quotas.insert(Kind::PublicIp, 4);
        behaviour.taken_labels.insert("taken".to_owned());
        behaviour.security_rules = 2;
        behaviour.routes = 1;
    });
    let label = |name: &str, label: &str| {
        let body =
            ADDRESS.replace("\"Static\"", &format!("\"Static\",\"dnsSettings\":{{\"domainNameLabel\":\"{label}\"}}"));
        format!("PUT Network/publicIPAddresses/{name} {body}")
    };
    let table = |routes: &str| {
        format!(r#"PUT Network/routeTables/rt1 {{"location":"westeurope","properties":{{"routes":[{routes}]}}}}"#)
    };
    let route = |name: &str, hop: &str| {
        format!(
            r#"{{"name":"{name}","properties":{{"addressPrefix":"10.244.1.0/24","nextHopType":"VirtualAppliance","nextHopIpAddress":"{hop}"}}}}"#
        )
    };
    let from = r#","sourceAddressPrefix":"Internet""#;
    for (line, told) in [
        (label("a", "shop"), "201"),
        (label("b", "shop"), "400 DnsRecordInUse"),
        (label("b", "taken"), "400 DnsRecordInUse"),
        (label("b", "Shop"), "400 InvalidDomainNameLabel"),
        (label("b", "other"), "201"),
        (label("c", "third"), "400 PublicIPCountLimitReached"),
        (rule("one", &format!(r#"{from},"priority":500"#)), "200"),
        (rule("one", &format!(r#"{from},"priority":99"#)), "400 SecurityRuleInvalidPriority"),
        (rule("one", r#","priority":500"#), "400 SecurityRuleParameterMissing"),
        (rule("one", &format!(r#"{from},"sourceAddressPrefixes":["10.0.0.0/8"],"priority":500"#)), "400 SecurityRuleParameterBothSingularAndPlural"),
        (table(&route("a", "10.240.0.4")), "201"),
        (table(&route("a", "")), "400 InvalidNextHopIpAddress"),
        (table(&format!("{},{}", route("a", "10.240.0.4"), route("b", "10.240.0.5"))), "400 RoutesPerRouteTableLimitReached"),
        (
            r#"PUT Network/networkSecurityGroups/nsg1/securityRules/two {"properties":{"priority":500,"direction":"Inbound","access":"Deny",
            "protocol":"*","sourcePortRange":"*","sourceAddressPrefix":"*","destinationPortRange":"*","destinationAddressPrefix":"*"}}"#.to_owned(),
            "400 SecurityRuleConflict",
        ),
    ] {
        let answer = asked.line(&line).await;
        assert_eq!(answer.short(), told, "{line}: {}", answer.body);
    }
    // Nothing of what was refused is there.
    let rules = asked.done("GET Network/networkSecurityGroups/nsg1/securityRules").await;
    assert_eq!(rules["value"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_resource_in_use_cannot_be_deleted() {
    let asked = ground().await;
    asked.cloud.with(|world| {
        world.add_scale_set("pool1");
        world.add_instance("pool1", 0);
    });
    let interfaces = |id: &str| {
        format!(
            r#"{{"networkInterfaceConfigurations":[{{"name":"nic0","properties":{{"primary":true,"ipConfigurations":[{{"name":"ipc","properties":{{
            "primary":true,"loadBalancerBackendAddressPools":[{id}]}}}}]}}}}]}}"#
        )
    };
    let pool = r#"{"id":"@Network/loadBalancers/l/backendAddressPools/b"}"#;
    let model = |id: &str| {
        format!(
            r#"PUT Compute/virtualMachineScaleSets/pool1 {{"location":"westeurope","properties":{{"virtualMachineProfile":{{"networkProfile":{}}}}}}}"#,
            interfaces(id)
        )
    };
    let machine = |id: &str| {
        format!(
            r#"PUT Compute/virtualMachineScaleSets/pool1/virtualMachines/0 {{"location":"westeurope","properties":{{"networkProfileConfiguration":{}}}}}"#,
            interfaces(id)
        )
    };
    let (delete, in_use) =
        ("DELETE Network/loadBalancers/l".to_owned(), "400 LoadBalancerInUseByVirtualMachineScaleSet");
    for (line, told) in [
        ("DELETE Network/publicIPAddresses/p".to_owned(), "400 PublicIPAddressCannotBeDeleted"),
        ("DELETE Network/publicIPAddresses/node-1-ip".to_owned(), "400 PublicIPAddressCannotBeDeleted"),
        ("DELETE Network/networkInterfaces/node-1-nic".to_owned(), "400 NicInUse"),
        ("DELETE Network/networkSecurityGroups/nsg1".to_owned(), "400 InUseNetworkSecurityGroupCannotBeDeleted"),
        ("DELETE Network/virtualNetworks/vnet1/subnets/subnet1".to_owned(), "400 InUseSubnetCannotBeDeleted"),
        ("DELETE Network/virtualNetworks/vnet1".to_owned(), "400 InUseSubnetCannotBeDeleted"),
        (model(pool), "200"),
        (delete.clone(), in_use),
        (machine(pool), "200"),
        (model(""), "200"),
        (delete.clone(), in_use),
        (machine(""), "200"),
        (delete, "202"),
        ("GET Network/loadBalancers/l".to_owned(), "404 ResourceNotFound"),
        ("DELETE Network/publicIPAddresses/p".to_owned(), "202"),
        ("GET Network/publicIPAddresses/p".to_owned(), "404 ResourceNotFound"),
        ("DELETE Network/virtualNetworks/vnet1/subnets/subnet2".to_owned(), "202"),
    ] {
        let answer = asked.line(&line).await;
        assert_eq!(answer.short(), told, "{line}: {}", answer.body);
    }
}

#[tokio::test]
async fn references_are_shown_on_both_ends() {
    let asked = ground().await;
    let pools = r#"{"location":"westeurope","properties":{"networkSecurityGroup":{"id":"@Network/networkSecurityGroups/nsg1"},
        "ipConfigurations":[{"name":"ipc","properties":{"primary":true,"subnet":{"id":"@Network/virtualNetworks/vnet1/subnets/subnet1"},
        "loadBalancerBackendAddressPools":[{"id":"@network/LOADBALANCERS/L/backendaddresspools/B"}]}}]}}"#;
    let before = asked.done("GET Network/loadBalancers/l").await;
    asked.done(&format!("PUT Network/networkInterfaces/node-2-nic {pools}")).await;
    let id = |rest: &str| tests::clouds::azure::id(&format!("Microsoft.{rest}"));
    let ids = |value: &Value| {
        value.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    let balancer = asked.done("GET Network/loadBalancers/l").await;
    assert_ne!(balancer["etag"], before["etag"], "a member is a change");
    let properties = &balancer["properties"];
    let rule = id("Network/loadBalancers/l/loadBalancingRules/r");
    for part in ["frontendIPConfigurations", "backendAddressPools", "probes"] {
        assert_eq!(
            ids(&properties[part][0]["properties"]["loadBalancingRules"]),
            std::slice::from_ref(&rule),
            "{part}"
        );
    }
    let member = id("Network/networkInterfaces/node-2-nic/ipConfigurations/ipc");
    assert_eq!(ids(&properties["backendAddressPools"][0]["properties"]["backendIPConfigurations"]), [member]);
    let address = asked.done("GET Network/publicIPAddresses/p").await;
    let frontend = id("Network/loadBalancers/l/frontendIPConfigurations/f");
    assert_eq!(address["properties"]["ipConfiguration"]["id"], json!(frontend));
    assert_eq!(address["properties"]["ipAddress"], "20.50.0.11");
    let group = asked.done("GET Network/networkSecurityGroups/nsg1").await;
    assert_eq!(ids(&group["properties"]["networkInterfaces"]).len(), 2);
    let interface = asked.done("GET Network/networkInterfaces/node-2-nic").await;
    assert_eq!(interface["properties"]["virtualMachine"]["id"], json!(id("Compute/virtualMachines/node-2")));
    let subnets = asked.done("GET Network/virtualNetworks/vnet1/subnets/subnet1").await;
    assert_eq!(ids(&subnets["properties"]["ipConfigurations"]).len(), 2);

    // What was read may be sent back, and with the load balancer its pools leave the interfaces.
    asked.done(&format!("PUT Network/loadBalancers/l {balancer}")).await;
    asked.done("DELETE Network/loadBalancers/l").await;
    let interface = asked.done("GET Network/networkInterfaces/node-2-nic").await;
    assert_eq!(
        interface["properties"]["ipConfigurations"][0]["properties"]["loadBalancerBackendAddressPools"],
        json!([])
    );
}

#[tokio::test]
async fn ids_have_no_letter_case_and_answers_keep_theirs() {
    let asked = ground().await;
    let answer = asked.line("GET NETWORK/LoadBalancers/L").await;
    assert_eq!(answer.status, 200);
    assert!(
        answer.body["id"]
            .as_str()
            .unwrap()
            .ends_with("/resourceGroups/rg1/providers/Microsoft.Network/loadBalancers/l")
    );
    let told = asked.line(&format!("PUT network/LOADBALANCERS/L {BALANCER}")).await;
    assert_eq!((told.status, &told.body["name"]), (200, &json!("l")), "it is the same one");
    asked.cloud.behave(|it| it.upper_case_groups = true);
    let set = asked.done(r#"PUT Compute/availabilitySets/a {"location":"westeurope"}"#).await;
    assert!(set["id"].as_str().unwrap().contains("/resourceGroups/RG1/"), "{set}");
    assert_eq!(asked.line("GET Compute/availabilitySets/A").await.status, 200);
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn machines_show_their_state_when_asked() {
    let asked = Asked::with(Options::instant()).await;
    asked.cloud.with(|world| {
        world.add_flexible_machine("flex1", 3, "node-3");
        world.add_scale_set("pool1");
        world.add_instance("pool1", 0);
        world.add_instance("pool1", 1);
    });
    let power = |it: &Value| it["properties"]["instanceView"]["statuses"][1]["code"].clone();
    let plain = asked.done("GET Compute/virtualMachines/node-1").await;
    assert_eq!(plain["properties"].get("instanceView"), None);
    let seen = asked.done("GET Compute/virtualMachines/node-1?$expand=instanceView").await;
    assert_eq!(power(&seen), "PowerState/running");
    asked.done("POST Compute/virtualMachineScaleSets/pool1/virtualMachines/1/deallocate").await;
    let all = asked.done("GET Compute/virtualMachineScaleSets/pool1/virtualMachines?$expand=instanceView").await;
    let states: Vec<_> = all["value"].as_array().unwrap().iter().map(power).collect();
    assert_eq!(states, ["PowerState/running", "PowerState/deallocated"]);
    let flexible = tests::clouds::azure::id("Microsoft.Compute/virtualMachineScaleSets/FLEX1");
    let list =
        asked.done(&format!("GET Compute/virtualMachines?$filter='virtualMachineScaleSet/id' eq '{flexible}'")).await;
    let names: Vec<_> = list["value"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["node-3"]);
    let nics = asked.done("GET Compute/virtualMachineScaleSets/pool1/networkInterfaces").await;
    assert_eq!(nics["value"].as_array().unwrap().len(), 2);

    // A disk knows its machine, and cannot be in two.
    asked.done(r#"PUT Compute/disks/d {"location":"westeurope","zones":["1"],"properties":{"diskSizeGB":4,"creationData":{"createOption":"Empty"}}}"#).await;
    let attach = |machine: &str| {
        format!(
            r#"PUT Compute/virtualMachines/{machine} {{"location":"westeurope","properties":{{"storageProfile":{{"dataDisks":[
            {{"lun":0,"createOption":"Attach","managedDisk":{{"id":"@Compute/disks/d"}}}}]}}}}}}"#
        )
    };
    asked.done(&attach("node-1")).await;
    let disk = asked.done("GET Compute/disks/d").await;
    assert_eq!(disk["managedBy"], json!(tests::clouds::azure::id("Microsoft.Compute/virtualMachines/node-1")));
    for (line, told) in [
        (attach("node-2").as_str(), "409 OperationNotAllowed"),
        ("DELETE Compute/disks/d", "409 OperationNotAllowed"),
        (
            r#"PUT Compute/virtualMachineScaleSets/pool1/virtualMachines/9 {"location":"westeurope"}"#,
            "409 OperationNotAllowed",
        ),
    ] {
        assert_eq!(asked.line(line).await.short(), told, "{line}");
    }
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn a_private_link_needs_a_subnet_without_policies() {
    let asked = ground().await;
    let link = r#"PUT Network/privateLinkServices/pls {"location":"westeurope","properties":{
        "loadBalancerFrontendIpConfigurations":[{"id":"@Network/loadBalancers/l/frontendIPConfigurations/f"}],
        "ipConfigurations":[{"name":"c","properties":{"primary":true,"subnet":{"id":"@Network/virtualNetworks/vnet1/subnets/subnet2"}}}]}}"#;
    let subnet = |state: &str| {
        format!(
            r#"PUT Network/virtualNetworks/vnet1/subnets/subnet2 {{"properties":{{"addressPrefix":"10.241.0.0/16","privateLinkServiceNetworkPolicies":"{state}"}}}}"#
        )
    };
    let connected = || {
        asked.cloud.with(|world| {
            let id = tests::clouds::azure::id("Microsoft.Network/privateLinkServices/pls");
            let connection =
                json!([{ "id": format!("{id}/privateEndpointConnections/e"), "name": "e", "properties": {} }]);
            world.get_mut(&id).unwrap()["properties"]["privateEndpointConnections"] = connection;
        });
    };
    for (line, told) in [
        (link.to_owned(), "400 PrivateLinkServiceNetworkPoliciesNotDisabled"),
        (subnet("Disabled"), "200"),
        (link.replace("frontendIPConfigurations/f", "frontendIPConfigurations/g"), "400 InvalidResourceReference"),
        (link.to_owned(), "201"),
        (subnet("Enabled"), "400 PrivateLinkServiceNetworkPoliciesCannotBeEnabledOnPrivateLinkServiceSubnet"),
        ("DELETE Network/loadBalancers/l".to_owned(), "400 LoadBalancerInUseByPrivateLinkService"),
        ("DELETE Network/virtualNetworks/vnet1/subnets/subnet2".to_owned(), "400 InUseSubnetCannotBeDeleted"),
    ] {
        let answer = asked.line(&line).await;
        assert_eq!(answer.short(), told, "{line}: {}", answer.body);
    }
    connected();
    let delete = "DELETE Network/privateLinkServices/pls";
    assert_eq!(asked.line(delete).await.short(), "400 PrivateLinkServiceWithPrivateEndpointConnectionsCannotBeDeleted");
    assert_eq!(asked.line("DELETE Network/privateLinkServices/pls/privateEndpointConnections/e").await.short(), "202");
    assert_eq!(asked.line(delete).await.short(), "202");
    asked.cloud.assert_valid();
}
