//! The network of the Pods, and of those who reach them: flags, probes, and the policies that endpoints make.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyEgressRule};
use serde_json::{Value, json};

use super::{PRESETS, only, rendered, values, with};
use crate::setup::container;

/// A policy of this kind off the node's network, and more.
fn policy(kind: &str, cloud: &str, more: Value) -> Value {
    let mut values = with(cloud, json!({ "hostNetwork": false, "networkPolicy": { "kind": kind } }));
    super::merge(&mut values, more);
    let objects = rendered(&values);
    let of_ours = |it: &&Value| it["kind"].as_str().unwrap().ends_with("NetworkPolicy");
    let [policy] = &objects.iter().filter(of_ours).collect::<Vec<_>>()[..] else { panic!("{objects:#?}") };
    (*policy).clone()
}

/// The names and ports that a policy of Cilium lets Pods reach.
fn names(policy: &Value) -> Vec<String> {
    let rules = policy["spec"]["egress"].as_array().unwrap().iter().filter(|it| it["toFQDNs"].is_array());
    let names = rules.flat_map(|rule| {
        let ports = &rule["toPorts"][0]["ports"];
        assert_eq!(ports.as_array().unwrap().len(), 1);
        let names = rule["toFQDNs"].as_array().unwrap().iter();
        names.map(|name| format!("{}:{}", name["matchName"].as_str().unwrap(), ports[0]["port"].as_str().unwrap()))
    });
    names.collect()
}

#[test]
fn cilium_lets_the_origins_of_the_endpoints_through() {
    let of_registry = json!({ "registry": "registry.example.org:5000/aerostat" });
    let digitalocean = policy("cilium", "digitalocean", of_registry);
    assert_eq!(names(&digitalocean), ["api.digitalocean.com:443", "registry.example.org:5000"]);
    let robot = json!({ "settings": { "robot.enabled": "true" }, "module": { "source": "configMap",
        "configMap": { "sha256": &super::DIGEST[7..] } } });
    assert_eq!(names(&policy("cilium", "hetzner", robot)), ["api.hetzner.cloud:443", "robot-ws.your-server.de:443"]);
    let aws = names(&policy("cilium", "aws", json!({})));
    let region = ["ec2", "elasticloadbalancing", "sts"].map(|it| format!("{it}.eu-west-1.amazonaws.com:443"));
    let registry = "registry.example.com:443".to_owned();
    assert_eq!(aws, [region[0].clone(), region[1].clone(), registry, region[2].clone()]);

    let openstack = names(&policy("cilium", "openstack", json!({})));
    let services = ["nova", "neutron", "octavia"].map(|it| format!("{it}.example.com:443"));
    let mut wanted = vec!["keystone.example.com:5000".to_owned(), "registry.example.com:443".to_owned()];
    wanted.extend(services);
    assert_eq!(BTreeSet::from_iter(openstack), BTreeSet::from_iter(wanted));

    let manager = "resource-controller.cloud.ibm.com:443".to_owned();
    let ibm = names(&policy("cilium", "ibm", json!({ "settings": { "g2ResourceGroupName": "shop" } })));
    assert!(ibm.contains(&manager), "{ibm:?}");
    let by_id = names(&policy("cilium", "ibm", json!({ "settings": { "resourceGroupID": "rg1" } })));
    assert!(!by_id.contains(&manager), "nobody is asked for an id: {by_id:?}");

    let cinder = names(&policy("cilium", "openstack-cinder", json!({})));
    let services = ["cinder", "neutron", "nova"].map(|it| format!("{it}.example.com:443"));
    let mut wanted = vec!["keystone.example.com:5000".to_owned(), "registry.example.com:443".to_owned()];
    wanted.extend(services);
    assert_eq!(BTreeSet::from_iter(cinder), BTreeSet::from_iter(wanted));

    let endpoint = json!({ "name": "api", "baseUrl": "http://api.example.com:8080/v2", "allow": [] });
    let more = json!({ "config": { "endpoints": [endpoint] },
        "networkPolicy": { "origins": ["https://192.0.2.7", "https://proxy.example.com:3128"] } });
    let written = policy("cilium", "digitalocean", more);
    let expected = ["proxy.example.com:3128", "registry.example.com:443", "api.example.com:8080"];
    assert_eq!(names(&written), expected, "what config says, not what the preset says");
    assert!(written.to_string().contains("\"toCIDR\":[\"192.0.2.7/32\"]"), "{written}");
    // DNS answers for these names alone.
    let dns = &written["spec"]["egress"][1]["toPorts"][0]["rules"]["dns"];
    assert_eq!(dns.as_array().unwrap().len(), 3, "{dns}");
}

#[test]
fn aws_keys_are_asked_for_by_address() {
    let source = |it: &str| json!({ "credentials": { "aws": { "source": it } } });
    let reached = |policy: &Value| policy.to_string().contains("169.254.169.254/32");
    for kind in ["kubernetes", "cilium", "calico", "calico-enterprise"] {
        assert!(reached(&policy(kind, "aws", source("instanceMetadata"))), "{kind}");
        assert!(!reached(&policy(kind, "aws", source("sharedFile"))), "{kind}");
        let agent = policy(kind, "aws", source("podIdentity")).to_string();
        assert!(agent.contains("169.254.170.23/32") && agent.contains("fd00:ec2::23/128"), "{kind}");
    }
}

#[test]
fn googles_givers_of_tokens_are_reached_as_the_source_needs() {
    let source = |it: &str| json!({ "credentials": { "google": { "source": it } } });
    let compute = ["compute.googleapis.com:443"];
    let givers = ["iamcredentials.googleapis.com:443", "registry.example.com:443", "sts.googleapis.com:443"];
    for cloud in ["gcp", "gcp-pd"] {
        assert_eq!(names(&policy("cilium", cloud, json!({}))), [&compute[..], &givers[..]].concat(), "{cloud}");
    }
    assert_eq!(names(&policy("cilium", "gcp", source("key"))), [compute[0], givers[1]]);
    let exchanged = json!({ "credentials": [{ "name": "google", "google": {
        "serviceAccountKey": { "file": "/etc/aerostat/google-key.json", "exchange": true },
        "tokenOrigins": ["https://tokens.example.com:8443"],
    } }] });
    let exchanged = names(&policy("cilium", "gcp", json!({ "config": exchanged })));
    let giver = "oauth2.googleapis.com:443";
    assert_eq!(exchanged, [compute[0], giver, givers[1], "tokens.example.com:8443"]);
    for kind in ["kubernetes", "cilium", "calico", "calico-enterprise"] {
        let reached = |source: Value| policy(kind, "gcp", source).to_string().contains("169.254.169.254/32");
        assert!(reached(source("metadata")) && !reached(source("key")) && !reached(json!({})), "{kind}");
    }
}

#[test]
fn entra_is_reached_as_the_source_needs() {
    let entra = |it: Value| json!({ "credentials": { "entra": it } });
    let (azure, registry) = ("management.azure.com:443", "registry.example.com:443");
    let reached = names(&policy("cilium", "azure", json!({})));
    assert_eq!(reached, ["login.microsoftonline.com:443", azure, registry]);
    let elsewhere = entra(json!({ "cloud": "AzureChinaCloud", "source": "secret" }));
    let reached = names(&policy("cilium", "azure", elsewhere));
    assert_eq!(reached, ["login.chinacloudapi.cn:443", "management.chinacloudapi.cn:443", registry]);
    let authority = json!({ "credentials": [{ "name": "azure", "entra": { "tenant": "adfs",
        "clientId": "c", "clientSecret": { "file": "/etc/aerostat/azure-secret" }, "authority": "https://login.stack.test:8443" } }] });
    let reached = names(&policy("cilium", "azure", json!({ "config": authority })));
    assert!(reached.contains(&"login.stack.test:8443".to_owned()), "{reached:?}");
    let managed = entra(json!({ "source": "managedIdentity" }));
    assert_eq!(names(&policy("cilium", "azure", managed.clone())), [azure, registry]);
    for kind in ["kubernetes", "cilium", "calico", "calico-enterprise"] {
        let reached = |source: Value| policy(kind, "azure", source).to_string().contains("169.254.169.254/32");
        assert!(reached(managed.clone()) && !reached(json!({})), "{kind}");
    }
}

#[test]
fn sts_of_alibaba_is_reached_as_the_source_needs() {
    let source = |it: &str| json!({ "credentials": { "alibaba": { "source": it } } });
    let mut products = ["ecs", "nlb", "slb", "vpc"].map(|it| format!("{it}.eu-central-1.aliyuncs.com:443")).to_vec();
    products.push("registry.example.com:443".to_owned());
    let reached = |more: Value| BTreeSet::from_iter(names(&policy("cilium", "alibaba", more)));
    for it in ["accessKey", "instanceRole"] {
        assert_eq!(reached(source(it)), BTreeSet::from_iter(products.clone()), "{it}");
    }
    products.push("sts.eu-central-1.aliyuncs.com:443".to_owned());
    assert_eq!(reached(json!({})), BTreeSet::from_iter(products));
    for kind in ["kubernetes", "cilium", "calico", "calico-enterprise"] {
        let reached = |source: Value| policy(kind, "alibaba", source).to_string().contains("100.100.100.200/32");
        assert!(reached(source("instanceRole")) && !reached(source("accessKey")) && !reached(json!({})), "{kind}");
    }
}

#[test]
fn iam_of_ibm_is_reached_as_the_source_needs() {
    let source = |it: &str| json!({ "credentials": { "ibm": { "source": it, "profile": "Profile-0123" } } });
    let (vpc, registry) = ("eu-de.private.iaas.cloud.ibm.com:443", "registry.example.com:443");
    let iam = "private.iam.cloud.ibm.com:443";
    let reached = |more: Value| BTreeSet::from_iter(names(&policy("cilium", "ibm", more)));
    let set = |all: &[&str]| BTreeSet::from_iter(all.iter().map(|it| (*it).to_owned()));
    for it in ["apiKey", "computeResource"] {
        assert_eq!(reached(source(it)), set(&[vpc, iam, registry]), "{it}");
    }
    assert_eq!(reached(source("instanceIdentity")), set(&[vpc, registry]));
    let public = json!({ "ibm": { "publicEndpoints": true } });
    assert_eq!(reached(public), set(&["iam.cloud.ibm.com:443", "eu-de.iaas.cloud.ibm.com:443", registry]));
    for kind in ["kubernetes", "cilium", "calico", "calico-enterprise"] {
        let reached = |source: Value| policy(kind, "ibm", source).to_string().contains("169.254.169.254/32");
        assert!(reached(source("instanceIdentity")) && !reached(json!({})), "{kind}");
    }
}

#[test]
fn a_trusted_profile_for_pods_has_a_token_for_iam_alone() {
    let template = |source: Value| {
        let values = with("ibm", json!({ "credentials": { "ibm": source } }));
        only::<Deployment>(&rendered(&values), "Deployment").spec.unwrap().template
    };
    let tokens = |source: Value| {
        let volumes = template(source).spec.unwrap().volumes.unwrap();
        let sources = volumes.into_iter().filter_map(|it| it.projected?.sources).flatten();
        let tokens = sources.filter_map(|it| it.service_account_token);
        tokens.map(|it| (it.path, it.audience.unwrap())).collect::<Vec<_>>()
    };
    let of_pods = tokens(json!({ "source": "computeResource", "profile": "Profile-0123" }));
    assert_eq!(of_pods, [("ibm-token".to_owned(), "iam".to_owned())]);
    assert_eq!(tokens(json!({ "source": "instanceIdentity" })), []);
    assert_eq!(tokens(json!({ "source": "apiKey", "apiKey": "01234567" })), []);
}

#[test]
fn the_standard_policy_lets_ports_through_and_no_link_local() {
    let more = json!({ "networkPolicy": { "apiServerPort": 8443, "origins": ["http://proxy.example.com:3128"] } });
    let policy: NetworkPolicy = serde_json::from_value(policy("kubernetes", "hetzner", more)).unwrap();
    let spec = policy.spec.unwrap();
    assert_eq!(spec.policy_types.unwrap(), ["Ingress", "Egress"]);
    assert_eq!(spec.ingress, None, "nobody asked for metrics or the webhook");
    let [dns, rest] = &spec.egress.unwrap()[..] else { panic!("DNS, and the rest") };
    let ports = |rule: &NetworkPolicyEgressRule| {
        json!(rule.ports.iter().flatten().map(|it| it.port.clone().unwrap()).collect::<Vec<_>>())
    };
    assert_eq!((ports(dns), ports(rest)), (json!([53, 53]), json!([3128, 443, 8443])));
    let blocks: Vec<_> = rest.to.iter().flatten().map(|it| it.ip_block.clone().unwrap()).collect();
    assert_eq!(blocks[0].except.as_ref().unwrap(), &["169.254.0.0/16"]);
}

#[test]
fn calico_knows_names_in_its_enterprise_edition_alone() {
    let of = |kind| policy(kind, "digitalocean", json!({}))["spec"]["egress"].to_string();
    let enterprise = of("calico-enterprise");
    assert!(enterprise.contains(r#""domains":["api.digitalocean.com","registry.example.com"],"ports":[443]"#));
    let open = of("calico");
    assert!(!open.contains("domains") && open.contains(r#""notNets":["169.254.0.0/16"],"ports":[443]"#), "{open}");
    for all in [enterprise, open] {
        assert!(all.contains(r#""services":{"name":"kubernetes","namespace":"default"}"#), "{all}");
    }
}

#[test]
fn on_the_nodes_network_nobody_else_reaches_it_unless_asked() {
    let of = |values: &Value| only::<Deployment>(&rendered(values), "Deployment").spec.unwrap().template;
    let scraped = json!({ "metrics": { "monitor": "ServiceMonitor" } });
    let off = json!({ "hostNetwork": false });
    for (more, address, host) in
        [(json!({}), "127.0.0.1", Some("127.0.0.1")), (scraped, "0.0.0.0", Some("127.0.0.1")), (off, "0.0.0.0", None)]
    {
        let template = of(&with("digitalocean", more.clone()));
        let container = container(&template);
        let argument = format!("--bind-address={address}");
        assert!(container.args.as_ref().unwrap().contains(&argument), "{more}: {:?}", container.args);
        for probe in [&container.startup_probe, &container.liveness_probe, &container.readiness_probe] {
            assert_eq!(probe.as_ref().unwrap().http_get.as_ref().unwrap().host.as_deref(), host, "{more}");
        }
        assert_eq!(template.spec.unwrap().host_network, host.map(|_| true), "{more}");
    }
}

#[test]
fn the_port_of_the_values_is_that_of_all_objects() {
    for kind in ["kubernetes", "cilium", "calico"] {
        let more = json!({ "port": 10_267, "hostNetwork": false, "networkPolicy": { "kind": kind },
            "metrics": { "monitor": "ServiceMonitor", "scraper": { "namespace": "m", "serviceAccount": "p" } } });
        let objects = rendered(&with("digitalocean", more));
        let with_port = |port: &str| objects.iter().filter(|it| it.to_string().contains(port)).count();
        assert_eq!((with_port("10258"), with_port("10267")), (0, 3), "{kind}");
    }
}

#[test]
fn the_api_server_can_be_named_before_its_service_is_there() {
    for (written, host, port) in
        [("api.internal.example.com:443", "api.internal.example.com", "443"), ("[fd00::1]:6443", "fd00::1", "6443")]
    {
        let objects = rendered(&with("digitalocean", json!({ "apiServer": written })));
        let container = container(&only::<Deployment>(&objects, "Deployment").spec.unwrap().template);
        let variables: Vec<_> = container.env.unwrap().into_iter().map(|it| (it.name, it.value.unwrap())).collect();
        let expected = [("KUBERNETES_SERVICE_HOST", host), ("KUBERNETES_SERVICE_PORT", port)];
        assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    let objects = rendered(&values("digitalocean"));
    assert_eq!(container(&only::<Deployment>(&objects, "Deployment").spec.unwrap().template).env, None);
}

/// The places in a config that have a proxy, as JSON pointers.
fn proxied(config: &Value, at: &str) -> Vec<String> {
    let below: Vec<(String, &Value)> = match config {
        Value::Object(all) => all.iter().map(|(key, it)| (format!("{at}/{key}"), it)).collect(),
        Value::Array(all) => all.iter().enumerate().map(|(index, it)| (format!("{at}/{index}"), it)).collect(),
        _ => Vec::new(),
    };
    let own = config.get("proxy").map(|_| at.to_owned());
    own.into_iter().chain(below.into_iter().flat_map(|(at, it)| proxied(it, &at))).collect()
}

#[test]
fn a_proxy_of_the_values_stands_wherever_one_may_stand() {
    let url = "http://proxy.example.com:3128";
    let schema = serde_json::from_str(include_str!("../../../../docs/cloud-config.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let proxy = json!({ "proxy": { "url": url, "addresses": ["10.0.0.0/8"], "existingSecret": "proxy" } });
    let of_tokens = |cloud| match cloud {
        "alibaba" => Some("/credentials/0/acs3/sts"),
        "aws" | "aws-ebs" => Some("/credentials/0/sigv4/sts"),
        "azure" => Some("/credentials/0/entra"),
        "gcp" | "gcp-pd" => Some("/credentials/0/google"),
        "ibm" => Some("/credentials/0/ibmIam"),
        "openstack" | "openstack-cinder" => Some("/credentials/0/keystone"),
        _ => None,
    };
    for cloud in PRESETS {
        let objects = rendered(&with(cloud, proxy.clone()));
        let config = super::cloud_config(&objects);
        let endpoints = config["endpoints"].as_array().unwrap().len();
        let mut expected: Vec<_> = (0..endpoints).map(|it| format!("/endpoints/{it}")).collect();
        expected.extend(of_tokens(cloud).map(str::to_owned));
        expected.push("/provider/module/oci".to_owned());
        let places = proxied(&config, "");
        assert_eq!(BTreeSet::from_iter(&places), BTreeSet::from_iter(&expected), "{cloud}");
        let login = json!({ "userFile": "/etc/aerostat/proxy-user", "passwordFile": "/etc/aerostat/proxy-password" });
        for place in places {
            let found = &config.pointer(&place).unwrap()["proxy"];
            assert_eq!(*found, json!({ "url": url, "addresses": ["10.0.0.0/8"], "login": login }), "{cloud}{place}");
        }
        let wrong: Vec<_> = schema.iter_errors(&config).map(|it| it.to_string()).collect();
        assert_eq!(wrong, [""; 0], "{cloud}");
        let deployment = objects.iter().find(|it| it["kind"] == "Deployment").unwrap();
        let sources = &deployment["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"];
        let is_login = |it: &Value| it["secret"]["name"] == "proxy";
        assert_eq!(sources.as_array().unwrap().iter().filter(|it| is_login(it)).count(), 1, "{cloud}");
        assert!(
            names(&policy("cilium", cloud, proxy.clone())).contains(&"proxy.example.com:3128".to_owned()),
            "{cloud}"
        );
    }
    // The proxy of an endpoint in config holds, also that there is none. The metadata of a machine are beside it.
    let own = json!({ "name": "api", "baseUrl": "https://api.example.com", "allow": [], "proxy": null });
    let mut more = proxy;
    more["config"] = json!({ "endpoints": [own] });
    assert_eq!(
        super::cloud_config(&rendered(&with("digitalocean", more.clone())))["endpoints"][0]["proxy"],
        Value::Null
    );
    more["config"] = json!({});
    for (cloud, kind, source) in [
        ("alibaba", "alibaba", "instanceRole"),
        ("gcp", "google", "metadata"),
        ("azure", "entra", "managedIdentity"),
        ("ibm", "ibm", "instanceIdentity"),
    ] {
        more["credentials"] = json!({ kind: { "source": source } });
        let config = super::cloud_config(&rendered(&with(cloud, more.clone())));
        assert!(!proxied(&config, "").iter().any(|it| it.starts_with("/credentials/")), "{config}");
    }
}
