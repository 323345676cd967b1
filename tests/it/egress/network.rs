//! Where a guest can get to: nowhere but the endpoints' own, checked addresses.

use std::net::{IpAddr, SocketAddr};

use egress::{AllowedAddresses, ApiServerAddress, BaseUrl, Egress, EgressSettings, Endpoint, KnownNetworks};
use sandbox::CallLimits;
use tests::capture::{Blackhole, Capture, Step};

use crate::setup::{Folder, Lab, Names, Outcome, Setup, any, endpoint, get, lead, load, named, route};
use tests::audit;

const NAME: &str = "api.example.com";

/// An egress to a name that resolves to these addresses, and to a server that must not be reached: it listens where the
/// addresses would lead if nothing kept them from it.
async fn trapped(answers: &[&[&str]], change: impl FnOnce(&mut Endpoint, &mut Setup)) -> (Lab, Capture) {
    let trap = Capture::http(|_| Step::ok("trapped")).await;
    let mut api = endpoint(&format!("https://{NAME}:{}", trap.address().port()));
    let mut setup = Setup::new([]);
    setup.names = Names::new(NAME, answers);
    change(&mut api, &mut setup);
    setup.endpoints.push(api);
    (setup.load().await, trap)
}

/// An egress to one endpoint for each address, named after it, whose host resolves to it. In the trap's place, again, is
/// what must not be reached.
async fn each(addresses: &[&str], change: impl FnOnce(&mut Setup)) -> (Lab, Capture) {
    let trap = Capture::http(|_| Step::ok("trapped")).await;
    let host = |index| format!("host-{index}.example.com");
    let endpoints = addresses.iter().enumerate().map(|(index, address)| Endpoint {
        name: (*address).to_owned(),
        ..endpoint(&format!("https://{}:{}", host(index), trap.address().port()))
    });
    let mut setup = Setup::new(endpoints);
    let answers: Vec<_> = addresses.chunks(1).map(|it| [it]).collect();
    setup.names = Names::all(answers.iter().enumerate().map(|(index, answer)| (host(index), &answer[..])));
    change(&mut setup);
    (setup.load().await, trap)
}

/// The error for an endpoint at this URL.
fn refusal(base_url: &str) -> String {
    let settings = EgressSettings {
        endpoints: vec![endpoint(base_url)],
        credentials: egress::Credentials::default(),
        fence: std::sync::Arc::new(|| true),
        demands: any(),
        reports: std::sync::Arc::new(|_| ()),
        route: |it| it,
    };
    let metrics = egress::Metrics::register(&prometheus::Registry::new()).unwrap();
    Egress::new(settings, metrics).err().unwrap_or_else(|| panic!("{base_url} was accepted")).to_string()
}

#[tokio::test]
async fn adv_01_a_host_is_no_endpoint() {
    audit::keep();
    let server = Capture::http(|_| Step::ok("")).await;
    let lab = Setup::new([endpoint(&server.url())]).load().await;
    for host in ["http://169.254.169.254", "169.254.169.254", "//169.254.169.254", "api@169.254.169.254"] {
        lab.denied(get(&["latest", "meta-data", "adv-01"]).to(host), "E-EGRESS-ENDPOINT").await;
    }
    assert_eq!(server.connections(), 0);
    let lines = audit::lines("/latest/meta-data/adv-01");
    assert_eq!(lines.len(), 4);
    for line in lines {
        assert_eq!(line["rule"], "none");
        assert_eq!(line["decision"], "deny");
        assert_eq!(line["code"], "E-EGRESS-ENDPOINT");
        assert_eq!(line["provider"], "hostile");
        assert_eq!(line["function"], "get");
    }
    assert_eq!(lab.counter("aerostat_egress_denied_total", &[("code", "E-EGRESS-ENDPOINT")]), 4);
    expect_test::expect!["endpoint api: its base URL is 169.254.169.254, which is link-local, where metadata services are; no config can allow it; give the cloud's own address"]
        .assert_eq(&refusal("https://169.254.169.254"));
}

#[tokio::test]
async fn adv_03_ipv6_forms_of_the_metadata_service_are_refused() {
    let forms = [
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
        "::ffff:0:a9fe:a9fe",
    ];
    let everything = || AllowedAddresses::Networks(vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()]);
    let (lab, _) = each(&forms, |setup| setup.endpoints.iter_mut().for_each(|it| it.addresses = everything())).await;
    for address in forms {
        lab.denied(get(&["v2"]).to(address), "E-EGRESS-IP").await;
        assert!(refusal(&format!("https://[{address}]")).contains("no config can allow it"), "{address}");
    }
}

#[tokio::test]
async fn adv_04_names_that_lead_to_metadata_services_are_refused() {
    let addresses = ["168.63.129.16", "100.100.100.200", "169.254.170.2", "192.0.0.192", "127.0.0.1", "0.0.0.0", "::1"];
    let (lab, trap) = each(&addresses, |_| ()).await;
    for address in addresses {
        lab.denied(get(&["v2"]).to(address), "E-EGRESS-IP").await;
    }
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn adv_05_the_rest_of_an_answer_is_dialled_and_nothing_else() {
    let refusing = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    lead("1.0.0.5", refusing);
    let (lab, trap) = trapped(&[&["1.0.0.5", "127.0.0.1"]], |_, setup| setup.route = route).await;
    match lab.send(&get(&["v2"])).await {
        Outcome::Unreachable(text) => assert!(text.contains("1.0.0.5") && !text.contains("127.0.0.1"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn adv_07_named_networks_open_nothing_else() {
    let folder = Folder::new();
    let server = Capture::https(&[NAME], |_| Step::ok("private")).await;
    lead("10.1.2.3", server.address());
    let api_server = ApiServerAddress::Address("10.96.0.1".parse().unwrap());
    let networks = KnownNetworks { api_servers: vec![api_server], ..KnownNetworks::default() };
    for (address, is_open) in
        [("10.1.2.3", true), ("169.254.169.254", false), ("10.96.0.1", false), ("127.0.0.1", false)]
    {
        let mut api = named(&format!("https://{NAME}"), &server, &folder);
        api.addresses = AllowedAddresses::Networks(vec!["10.0.0.0/8".parse().unwrap()]);
        let mut setup = Setup::new([api]);
        (setup.names, setup.networks, setup.route) = (Names::new(NAME, &[&[address]]), networks.clone(), route);
        let lab = setup.load().await;
        if is_open {
            assert_eq!(lab.body(&get(&["v2"])).await, "private");
        } else {
            lab.denied(get(&["v2"]), "E-EGRESS-IP").await;
        }
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn adv_09_a_name_that_changes_never_leads_to_loopback() {
    let folder = Folder::new();
    let closing = |_: &_| Step::ok("public").into_iter().chain([Step::Close]).collect();
    let server = Capture::https(&[NAME], closing).await;
    lead("1.0.0.9", server.address());
    let (lab, trap) = trapped(&[&["1.0.0.9"], &["127.0.0.1"]], |api, setup| {
        *api = named(&api.place.to_string(), &server, &folder);
        setup.route = route;
    })
    .await;
    assert_eq!(lab.body(&get(&["v2"])).await, "public");
    for _ in 1..100 {
        lab.denied(get(&["v2"]), "E-EGRESS-IP").await;
    }
    assert_eq!((server.requests().len(), trap.connections()), (1, 0));
}

#[tokio::test]
async fn adv_28_a_second_address_is_tried_within_the_total() {
    let folder = Folder::new();
    let (blackhole, server) = (Blackhole::open().await, Capture::https(&[NAME], |_| Step::ok("second")).await);
    lead("1.0.0.28", blackhole.address());
    lead("1.0.1.28", server.address());
    let lab = async |addresses: &[&str]| {
        let mut api = named(&format!("https://{NAME}"), &server, &folder);
        api.limits.connect = std::time::Duration::from_secs(2);
        let mut setup = Setup::new([api]);
        (setup.names, setup.route) = (Names::new(NAME, &[addresses]), route);
        setup.load().await
    };
    assert_eq!(lab(&["1.0.0.28", "1.0.1.28"]).await.body(&get(&["v2"])).await, "second");
    match lab(&["1.0.0.28"]).await.send(&get(&["v2"])).await {
        Outcome::Unreachable(text) => assert!(text.contains("1.0.0.28:443: no connection within 2s"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn no_more_than_sixteen_addresses_are_tried() {
    let addresses: Vec<_> = (0..64).map(|it| format!("1.0.2.{it}")).collect();
    let refusing = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    addresses.iter().for_each(|it| lead(it, refusing));
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    let (lab, _) = trapped(&[&addresses], |_, setup| setup.route = route).await;
    match lab.send(&get(&["v2"])).await {
        Outcome::Unreachable(text) => assert_eq!(text.matches("1.0.2.").count(), 16, "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn adv_45_the_cluster_is_no_endpoint_and_no_address() {
    let (api_server, node, service) = ("1.0.0.45", "1.0.1.45", "1.0.2.45");
    let networks = |port| KnownNetworks {
        api_servers: vec![
            ApiServerAddress::Address(api_server.parse().unwrap()),
            ApiServerAddress::Socket(SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port)),
        ],
        services: vec![format!("{service}/32").parse().unwrap()],
        nodes: vec![format!("{node}/32").parse().unwrap()],
        ..KnownNetworks::default()
    };
    let inside = [api_server, node, service];
    let (lab, _) = each(&inside, |setup| setup.networks = networks(6443)).await;
    for address in inside {
        lab.denied(get(&["v2"]).to(address), "E-EGRESS-IP").await;
    }
    for host in ["https://kubernetes.default.svc", "kubernetes", "localhost:2379", "unix:/run/containerd.sock"] {
        lab.denied(get(&["v2"]).to(host), "E-EGRESS-ENDPOINT").await;
    }
    // On loopback, where this test's server stands in for the API server, its port is what counts.
    let server = Capture::http(|_| Step::ok("not the API server")).await;
    let port = server.address().port();
    for (port, is_open) in [(port, false), (port ^ 1, true)] {
        let mut setup = Setup::new([endpoint(&server.url())]);
        setup.networks = networks(port);
        let outcome = setup.load().await.send(&get(&["v2"])).await;
        assert_eq!(matches!(outcome, Outcome::Answered { .. }), is_open, "{outcome:?}");
        assert_eq!(server.connections() > 0, is_open);
    }
}

#[tokio::test]
async fn a_name_for_loopback_is_refused_with_the_systems_resolver_too() {
    let server = Capture::http(|_| Step::ok("trapped")).await;
    let base_url = format!("https://localhost:{}", server.address().port());
    let settings = EgressSettings {
        endpoints: vec![endpoint(&base_url)],
        credentials: egress::Credentials::default(),
        fence: std::sync::Arc::new(|| true),
        demands: any(),
        reports: std::sync::Arc::new(|_| ()),
        route: |it| it,
    };
    let lab = load(CallLimits::default(), |metrics| Egress::new(settings, metrics).unwrap()).await;
    lab.denied(get(&["v2"]), "E-EGRESS-IP").await;
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_in_time_is_unreachable() {
    let (lab, _) = trapped(&[&[]], |_, _| ()).await;
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Unreachable(it) if it.contains("without addresses")));
    let mut setup = Setup::new([endpoint("https://nowhere.example.com")]);
    setup.names = Names::new(NAME, &[]);
    let outcome = setup.load().await.send(&get(&["v2"])).await;
    assert!(matches!(outcome, Outcome::Unreachable(it) if it.contains("does not resolve: no such name")));
}

#[tokio::test]
async fn a_certificate_must_be_for_the_endpoints_host() {
    let folder = Folder::new();
    let server = Capture::https(&["other.example.com"], |_| Step::ok("")).await;
    lead("1.0.3.1", server.address());
    let mut setup = Setup::new([named(&format!("https://{NAME}"), &server, &folder)]);
    (setup.names, setup.route) = (Names::new(NAME, &[&["1.0.3.1"]]), route);
    match setup.load().await.send(&get(&["v2"])).await {
        Outcome::Unreachable(text) => assert!(text.contains("certificate"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn base_urls_that_are_no_origins_are_refused() {
    for text in ["https://127.1", "https://2130706433", "unix:/run/x.sock", "https://user@api.example.com"] {
        BaseUrl::parse(text).expect_err(text);
    }
}
