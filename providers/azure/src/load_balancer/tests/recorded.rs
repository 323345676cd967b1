//! Bodies as the vendor's controller sends them: excerpts of golden/azure, with this test's names in the place of theirs.

use super::*;

/// The parts of a body that a recording names, without what the API adds.
fn sent(stage: &BalancerStage, words: &str) -> Value {
    let requests = stage.host.sent();
    let request =
        requests.iter().rev().find(|it| it.method == Method::Put && it.path.join("/").ends_with(words)).unwrap();
    body(request)
}

/// A reference in a load balancer.
fn reference(balancer: &str, words: &str) -> Value {
    json!({ "id": rg(&format!("Microsoft.Network/loadBalancers/{balancer}/{words}")) })
}

#[test]
fn azure_018_bodies_of_the_first_service_are_as_recorded() {
    let stage = BalancerStage::with_addresses();
    stage.ready(service());
    let mut public = sent(&stage, &format!("publicIPAddresses/kubernetes-{BASE}"));
    let mark = public["tags"].as_object_mut().unwrap().remove("aerostat-owner").unwrap();
    assert_eq!(mark, json!(format!("aerostat:c1a5e000-1111-2222-3333-444455556666:{UID}")));
    let expected = json!({
        "location": "westeurope", "properties": { "publicIPAddressVersion": "IPv4", "publicIPAllocationMethod": "Static" },
        "sku": { "name": "Standard" }, "tags": { "k8s-azure-cluster-name": "kubernetes", "k8s-azure-service": "default/web" },
        "zones": ["1", "2", "3"],
    });
    assert_eq!(public, expected);
    let mut balancer = sent(&stage, "loadBalancers/kubernetes");
    balancer.as_object_mut().unwrap().remove("tags");
    let rule = format!("{BASE}-TCP-80");
    let expected = json!({
        "location": "westeurope", "sku": { "name": "Standard" }, "properties": {
            "frontendIPConfigurations": [{ "name": BASE, "properties": { "publicIPAddress": {
                "id": rg(&format!("Microsoft.Network/publicIPAddresses/kubernetes-{BASE}")) } } }],
            "backendAddressPools": [{ "name": "kubernetes", "properties": {} }],
            "probes": [{ "name": rule, "properties": { "intervalInSeconds": 5, "port": 30_080, "probeThreshold": 2, "protocol": "Tcp" } }],
            "loadBalancingRules": [{ "name": rule, "properties": {
                "backendAddressPool": reference("kubernetes", "backendAddressPools/kubernetes"), "backendPort": 80,
                "disableOutboundSnat": false, "enableFloatingIP": true, "enableTcpReset": true,
                "frontendIPConfiguration": reference("kubernetes", &format!("frontendIPConfigurations/{BASE}")), "frontendPort": 80,
                "idleTimeoutInMinutes": 4, "loadDistribution": "Default", "probe": reference("kubernetes", &format!("probes/{rule}")),
                "protocol": "Tcp" } }],
        },
    });
    assert_eq!(balancer, expected);
    let pool = sent(&stage, "backendAddressPools/kubernetes");
    let addresses = json!([
        { "name": "node-1", "properties": { "ipAddress": "10.240.0.4" } }, { "name": "node-2", "properties": { "ipAddress": "10.240.0.5" } },
    ]);
    assert_eq!(pool["properties"]["loadBalancerBackendAddresses"], addresses);
    assert_eq!(pool["properties"]["virtualNetwork"], json!({ "id": rg("Microsoft.Network/virtualNetworks/vnet1") }));
    let group = sent(&stage, "networkSecurityGroups/nsg1");
    let rule = part(&group, "securityRules", "k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77");
    let ip = stage.public(&format!("kubernetes-{BASE}"))["properties"]["ipAddress"].clone();
    let expected = json!({
        "access": "Allow", "destinationAddressPrefix": ip, "destinationPortRanges": ["80"], "direction": "Inbound", "priority": 500,
        "protocol": "Tcp", "sourceAddressPrefix": "Internet", "sourcePortRange": "*",
    });
    assert_eq!(rule["properties"], expected);
}

#[test]
fn azure_023_and_041_bodies_of_internal_ones_are_as_recorded() {
    let stage = BalancerStage::new();
    let internal = service().with_annotation(key("azure-load-balancer-internal"), "true");
    let all_ports = internal.clone().with_annotation(key("azure-load-balancer-enable-high-availability-ports"), "true");
    let internal = stage.ready(internal);
    assert!(ips(&internal)[0].starts_with("10.240.0."));
    let frontend = part(&sent(&stage, "loadBalancers/kubernetes-internal"), "frontendIPConfigurations", BASE);
    let subnet = json!({ "id": rg("Microsoft.Network/virtualNetworks/vnet1/subnets/subnet1"), "name": "subnet1" });
    let expected = json!({ "name": BASE, "properties": { "privateIPAllocationMethod": "Dynamic", "subnet": subnet }, "zones": ["1", "2", "3"] });
    assert_eq!(frontend, expected);
    assert!(
        !stage.writes(0).iter().any(|it| it.contains("networkSecurityGroups")),
        "without sources nothing is let in"
    );
    stage.ready(LoadBalancer { memo: internal.memo.clone(), ..all_ports });
    let rule =
        part(&sent(&stage, "loadBalancers/kubernetes-internal"), "loadBalancingRules", &format!("{BASE}-TCP-80"));
    let properties = &rule["properties"];
    assert_eq!(
        (&properties["protocol"], &properties["frontendPort"], &properties["backendPort"]),
        (&json!("All"), &json!(0), &json!(0))
    );
    assert_eq!((&properties["enableFloatingIP"], &properties["enableTcpReset"]), (&json!(true), &json!(true)));
}

#[test]
fn azure_056_private_link_is_as_recorded() {
    let stage = BalancerStage::new();
    let internal = service().with_annotation(key("azure-load-balancer-internal"), "true");
    let linked = stage.ready(internal.clone().with_annotation(key("azure-pls-create"), "true"));
    let words: Vec<String> = stage.writes(0).into_iter().filter(|it| !it.contains("networkInterfaces")).collect();
    assert_eq!(
        words,
        [
            "Put loadBalancers/kubernetes-internal",
            "Put virtualNetworks/vnet1/subnets/subnet1",
            &format!("Put privateLinkServices/pls-{BASE}")
        ]
    );
    let link = sent(&stage, &format!("privateLinkServices/pls-{BASE}"));
    let expected = json!({ "location": "westeurope", "tags": { "k8s-azure-cluster-name": "kubernetes", "k8s-azure-owner-service": "default/web" },
        "properties": {
            "loadBalancerFrontendIpConfigurations": [reference("kubernetes-internal", &format!("frontendIPConfigurations/{BASE}"))],
            "ipConfigurations": [{ "name": format!("subnet1-pls-{BASE}-dynamic-0"), "properties": {
                "primary": true, "privateIPAddressVersion": "IPv4", "privateIPAllocationMethod": "Dynamic",
                "subnet": { "id": rg("Microsoft.Network/virtualNetworks/vnet1/subnets/subnet1") } } }],
        } });
    assert_eq!(link, expected);
    let subnet = sent(&stage, "subnets/subnet1");
    assert_eq!(
        (&subnet["properties"]["addressPrefix"], &subnet["properties"]["privateLinkServiceNetworkPolicies"]),
        (&json!("10.240.0.0/16"), &json!("Disabled"))
    );
    let asked = stage.asked();
    stage.ready(linked.clone());
    assert_eq!(stage.writes(asked), [""; 0]);
    stage.ready(LoadBalancer { memo: linked.memo.clone(), current_ingress: linked.current_ingress, ..internal });
    assert_eq!(stage.object(&format!("Microsoft.Network/privateLinkServices/pls-{BASE}")), Value::Null);
}

#[test]
fn takeover_writes_nothing() {
    let stage = BalancerStage::new();
    stage.ready(service());
    // Objects that the vendor's controller has made have its marks alone.
    let public = format!("Microsoft.Network/publicIPAddresses/kubernetes-{BASE}");
    let untagged: fn(&mut Value) = |it| _ = it["tags"].as_object_mut().unwrap().remove("aerostat-owner");
    stage.cloud.borrow_mut().touch(&public, untagged);
    let unmarked: fn(&mut Value) = |it| _ = it.as_object_mut().unwrap().remove("tags");
    stage.cloud.borrow_mut().touch("Microsoft.Network/loadBalancers/kubernetes", unmarked);
    let asked = stage.asked();
    let service = stage.ready(service());
    assert_eq!(stage.writes(asked), [""; 0]);
    stage.gone(&service);
    assert_eq!(stage.publics(), [""; 0]);
}

#[test]
fn private_links_in_another_group_lose_what_is_taken_back() {
    let stage = BalancerStage::new();
    let internal = service()
        .with_annotation(key("azure-load-balancer-internal"), "true")
        .with_annotation(key("azure-pls-create"), "true")
        .with_annotation(key("azure-pls-resource-group"), "links");
    let linked = stage.ready(internal.clone().with_annotation(key("azure-pls-fqdns"), "a.example b.example"));
    let id = format!("Microsoft.Network/privateLinkServices/pls-{BASE}");
    let id = rg(&id).replace("/rg1/", "/links/").to_ascii_lowercase();
    let link = || stage.cloud.borrow().objects.get(&id).cloned().unwrap_or_default();
    assert_eq!(link()["properties"]["fqdns"], json!(["a.example", "b.example"]));
    let taken_back = LoadBalancer { annotations: internal.annotations, ..linked };
    let linked = stage.ready(taken_back);
    assert_eq!(link()["properties"]["fqdns"], json!([]));
    let asked = stage.asked();
    let linked = stage.ready(linked);
    assert_eq!(stage.writes(asked), [""; 0]);
    stage.gone(&linked);
    assert_eq!(link(), Value::Null);
}
