//! Requests through a real proxy.

use std::path::PathBuf;
use std::sync::Arc;

use egress::{AllowedAddresses, BaseUrl, Egress, EgressSettings, Endpoint, Proxy, ProxyLogin, ProxyUrl};
use tests::capture::{Capture, Step, TlsServer};
use tests::tinyproxy::Tinyproxy;
use tests::{audit, wait};
use tokio::sync::Notify;

use crate::setup::{Folder, Lab, Names, Outcome, Setup, any, bearer, endpoint, get};

/// A name that only the proxy can resolve.
const NAME: &str = "api.behind.example";

fn proxy(url: &str) -> Proxy {
    Proxy { url: ProxyUrl::parse(url).unwrap(), addresses: AllowedAddresses::Public, ca_file: None, login: None }
}

fn login(folder: &Folder, user: &str, password: &str) -> Option<ProxyLogin> {
    let (user_file, password_file) = (folder.write("user", user), folder.write("password", password));
    Some(ProxyLogin { user_file, password_file })
}

async fn server(script: impl Fn(&tests::capture::Request) -> Vec<Step> + Send + Sync + 'static) -> Capture {
    Capture::https(&[NAME], script).await
}

/// The endpoint at a server behind a proxy, by the name that the proxy knows.
fn behind(server: &Capture, folder: &Folder, proxy: Proxy) -> Endpoint {
    let ca_file: Option<PathBuf> = Some(folder.write("ca.pem", server.ca()));
    let url = format!("https://{NAME}:{}", server.address().port());
    Endpoint { ca_file, proxy: Some(proxy), ..endpoint(&url) }
}

async fn lab(endpoint: Endpoint) -> Lab {
    Setup::new([endpoint]).load().await
}

/// The sentence about a request that certainly did not arrive.
async fn unreachable(lab: &Lab) -> String {
    match lab.send(&get(&["v2", "droplets"])).await {
        Outcome::Unreachable(text) => text,
        other => panic!("it arrived, or may have: {other:?}"),
    }
}

fn egress(endpoint: Endpoint) -> Result<Egress, String> {
    let settings = EgressSettings {
        endpoints: vec![endpoint],
        credentials: egress::Credentials::default(),
        fence: Arc::new(|| true),
        demands: any(),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    Egress::new(settings, egress::Metrics::register(&prometheus::Registry::new()).unwrap()).map_err(|it| it.to_string())
}

/// Cases: proxies
#[tokio::test]
async fn a_proxy_is_asked_for_the_endpoint_and_sees_no_request() {
    audit::keep();
    let (folder, tinyproxy) = (Folder::new(), Tinyproxy::start(&[NAME], "").await);
    let server = server(|_| Step::ok("{}")).await;
    let endpoint =
        Endpoint { credential: Some("token".to_owned()), ..behind(&server, &folder, proxy(&tinyproxy.url())) };
    let mut setup = Setup::new([endpoint]);
    setup.credentials = bearer(&folder, "secret-token");
    let lab = setup.load().await;
    assert_eq!(lab.body(&get(&["v2", "behind", "a-proxy"])).await, "{}");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer secret-token"));
    assert_eq!(tinyproxy.targets(), [format!("{NAME}:{}", server.address().port())]);
    let line = audit::lines("/v2/behind/a-proxy").pop().unwrap();
    assert_eq!((&line["proxy"], &line["address"]), (&tinyproxy.url().into(), &tinyproxy.address().to_string().into()));
    // The connection serves the next request, too.
    lab.body(&get(&["v2", "droplets"])).await;
    assert_eq!((server.connections(), tinyproxy.targets().len()), (1, 1));
}

/// Cases: proxies
#[tokio::test]
async fn a_login_is_read_for_each_connection() {
    let (folder, tinyproxy) = (Folder::new(), Tinyproxy::start(&[NAME], "BasicAuth aerostat right-word").await);
    let server = server(|_| Step::ok("{}")).await;
    let url = tinyproxy.url();
    let without = lab(behind(&server, &folder, proxy(&url))).await;
    let text = unreachable(&without).await;
    assert!(text.contains(&url) && text.contains("asks for a login (407): name its files as `proxy.login`"), "{text}");
    let with = Proxy { login: login(&folder, "aerostat", "wrong-word"), ..proxy(&url) };
    let lab = lab(behind(&server, &folder, with)).await;
    let text = unreachable(&lab).await;
    assert!(text.contains("refuses the login (40") && !text.contains("wrong-word"), "{text}");
    login(&folder, "aerostat\n", "right-word\n");
    assert_eq!(lab.body(&get(&["v2", "droplets"])).await, "{}");
    folder.write("password", "");
    let missing = Proxy { login: login(&folder, "aerostat", ""), ..proxy(&url) };
    let text = egress(behind(&server, &folder, missing)).err().unwrap();
    assert!(text.starts_with("endpoint api: `proxy.login`: ") && text.contains("is empty"), "{text}");
}

/// Cases: proxies
#[tokio::test]
async fn tls_to_the_proxy_is_checked_with_its_own_authorities() {
    let (folder, tinyproxy) = (Folder::new(), Tinyproxy::start(&[NAME], "").await);
    let (server, front) = (server(|_| Step::ok("{}")).await, TlsServer::before(tinyproxy.address()).await);
    let trusted = Proxy { ca_file: Some(folder.write("proxy.pem", front.ca())), ..proxy(&front.url()) };
    assert_eq!(lab(behind(&server, &folder, trusted)).await.body(&get(&["v2", "droplets"])).await, "{}");
    let text = unreachable(&lab(behind(&server, &folder, proxy(&front.url()))).await).await;
    assert!(text.contains("certificate") && text.contains(&front.url()), "{text}");
}

/// Cases: proxies
#[tokio::test]
async fn a_proxys_refusals_name_proxy_target_and_next_step() {
    let folder = Folder::new();
    let server = server(|_| Step::ok("{}")).await;
    let closed = Tinyproxy::start(&[NAME], "ConnectPort 443").await;
    let text = unreachable(&lab(behind(&server, &folder, proxy(&closed.url()))).await).await;
    let target = format!("{NAME}:{}", server.address().port());
    assert!(text.contains(&closed.url()) && text.contains(&format!("{target} (403): allow it")), "{text}");
    // A name that the proxy does not know either.
    let blind = Tinyproxy::start(&[], "").await;
    let text = unreachable(&lab(behind(&server, &folder, proxy(&blind.url()))).await).await;
    assert!(text.contains(&format!("the proxy could not connect to {target}")), "{text}");
    let mut gone = blind;
    gone.kill().await;
    let text = unreachable(&lab(behind(&server, &folder, proxy(&gone.url()))).await).await;
    assert!(text.contains("cannot be reached through") && text.contains("refused"), "{text}");
    assert_eq!(server.connections(), 0);
}

/// Cases: proxies
#[tokio::test]
async fn a_proxy_that_dies_leaves_a_request_in_doubt() {
    let (folder, mut tinyproxy) = (Folder::new(), Tinyproxy::start(&[NAME], "").await);
    let waiting = Arc::new(Notify::new());
    let held = waiting.clone();
    let server = server(move |_| vec![Step::Wait(held.clone())]).await;
    let lab = lab(behind(&server, &folder, proxy(&tinyproxy.url()))).await;
    let request = get(&["v2", "droplets"]);
    let (outcome, ()) = tokio::join!(lab.send(&request), async {
        wait::until("the request arrives", async || (!server.requests().is_empty()).then_some(())).await;
        tinyproxy.kill().await;
    });
    assert!(matches!(outcome, Outcome::Interrupted(_)), "{outcome:?}");
}

/// Cases: proxies
#[tokio::test]
async fn adv_174_no_proxy_leads_to_the_inside() {
    let (folder, tinyproxy) = (Folder::new(), Tinyproxy::start(&["10.0.0.7.example"], "").await);
    let through = |base_url: &str, proxy: Proxy| Endpoint { proxy: Some(proxy), ..endpoint(base_url) };
    for url in
        ["https://127.0.0.1:8443", "http://127.0.0.1:8080", "https://localhost", "https://metadata.google.internal"]
    {
        let text = egress(through(url, proxy(&tinyproxy.url()))).err().expect(url);
        assert!(text.contains("which no proxy is asked for; remove `proxy`"), "{url}: {text}");
    }
    // An address is judged as if it were dialled here.
    let lab = lab(through("https://10.0.0.7", proxy(&tinyproxy.url()))).await;
    lab.denied(get(&["v2", "droplets"]), "E-EGRESS-IP").await;
    // So is the proxy's own, by its name and by its address.
    for (url, part) in [("http://169.254.169.254:3128", "metadata"), ("http://proxy.example:3128", "a private address")]
    {
        let mut setup = Setup::new([through("https://api.example.com", proxy(url))]);
        setup.names = Names::new("proxy.example", &[&["10.0.0.7"]]);
        match setup.load().await.send(&get(&["v2", "droplets"])).await {
            Outcome::Denied(text) => {
                assert!(text.contains("the proxy of endpoint api") && text.contains(part), "{text}")
            }
            other => panic!("{url}: {other:?}"),
        }
    }
    assert!(BaseUrl::parse("https://user:word@proxy.example").is_err() && tinyproxy.targets().is_empty());
    drop(folder);
}
