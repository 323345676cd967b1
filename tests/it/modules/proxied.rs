//! Registries behind a real proxy.

use egress::{AllowedAddresses, Proxy, ProxyLogin, ProxyUrl};
use oci::Image;
use serde_json::json;
use tests::control_plane::cluster;
use tests::folder::Folder;
use tests::guests;
use tests::operator;
use tests::registry::{Access, Artifact, BEHIND, REPOSITORY, RealRegistry};
use tests::tinyproxy::Tinyproxy;

use crate::commands::{flag, json_of, login, refused, strs};
use crate::setup::{MODULE, Setup, artifact};

/// A proxy that knows the registry's name and asks for a login.
async fn proxy() -> Tinyproxy {
    Tinyproxy::start(&[BEHIND], "BasicAuth aerostat right-word").await
}

/// The registry by the name that the proxy knows.
fn behind(registry: &RealRegistry) -> String {
    format!("{BEHIND}:{}", registry.address().rsplit(':').next().unwrap())
}

/// A module in a registry behind a proxy.
fn through(registry: &RealRegistry, proxy: &Tinyproxy, password: &str) -> Setup {
    let mut setup = Setup::in_real(registry, &artifact().digest());
    setup.settings.image = Image::parse(&format!("{}/{REPOSITORY}:1.2.0", behind(registry))).unwrap();
    let [user_file, password_file] = files(&setup.folder, password);
    setup.settings.proxy = Some(Proxy {
        url: ProxyUrl::parse(&proxy.url()).unwrap(),
        addresses: AllowedAddresses::Public,
        ca_file: None,
        login: Some(ProxyLogin { user_file, password_file }),
    });
    setup
}

/// The files with the login at the proxy.
fn files(folder: &Folder, password: &str) -> [std::path::PathBuf; 2] {
    [("proxy-user", "aerostat"), ("proxy-password", password)].map(|(name, text)| folder.write(name, text))
}

/// Cases: proxies
#[tokio::test]
async fn a_module_is_pulled_through_a_proxy() {
    let (registry, mut proxy) = (RealRegistry::distribution(Access::Password).await, proxy().await);
    registry.push(&artifact(), None).await;
    let setup = through(&registry, &proxy, "right-word").password("correct-horse");
    assert_eq!(setup.pulled().await.bytes, MODULE);
    let (targets, place) = (proxy.targets(), behind(&registry));
    assert!(!targets.is_empty() && targets.iter().all(|it| *it == place), "{targets:?} and not {place}");

    files(&setup.folder, "wrong-word");
    setup.unavailable(&[&place, "through http://127.0.0.1:", "the proxy refuses the login (40"]).await;
    files(&setup.folder, "right-word");
    proxy.kill().await;
    setup.unavailable(&[&place, "cannot be reached through http://127.0.0.1:", "Connection refused"]).await;
}

/// Cases: proxies
#[tokio::test]
async fn commands_push_and_pull_through_a_proxy() {
    let (registry, proxy) = (RealRegistry::distribution(Access::Password).await, proxy().await);
    let (folder, place) = (Folder::new(), behind(&registry));
    let [user, password] = files(&folder, "right-word");
    let flags = [
        flag("ca", &registry.ca_file()),
        login(&folder, &place, "correct-horse"),
        format!("--proxy={}", proxy.url()),
        flag("proxy-user-file", &user),
        flag("proxy-password-file", &password),
    ];
    let with = |arguments: &[&str]| -> Vec<String> {
        arguments.iter().map(|it| (*it).to_owned()).chain(flags.clone()).collect()
    };
    let (reference, out) = (format!("{place}/{REPOSITORY}:1.0.0"), folder.path("pulled.wasm"));
    let push = with(&["push", guests::ACME, &reference]);
    let pushed = json_of(&strs(&push)).await;
    let pull = with(&["pull", &reference, "--digest", pushed["manifest"].as_str().unwrap(), &flag("out", &out)]);
    json_of(&strs(&pull)).await;
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(guests::ACME).unwrap());
    assert!(proxy.targets().iter().all(|it| *it == place), "{:?}", proxy.targets());
    files(&folder, "wrong-word");
    refused(&strs(&push), &[&place, "the proxy refuses the login (40"]).await;
}

/// Cases: proxies
#[tokio::test]
async fn the_process_takes_its_module_through_a_proxy() {
    let (cluster, proxy) = (cluster().await, proxy().await);
    let registry = RealRegistry::distribution(Access::Anyone).await;
    let module = Artifact::new(&std::fs::read(guests::ACME).unwrap());
    registry.push(&module, None).await;
    let setup = operator::Setup::guest(&cluster, guests::ACME);
    let [user, password] = files(&setup.folder, "right-word");
    let setup = setup.edit(|config| {
        config["provider"]["module"] = registry.module(&module.digest());
        let oci = &mut config["provider"]["module"]["oci"];
        oci["image"] = json!(format!("{}/{REPOSITORY}:1.2.0", behind(&registry)));
        oci["proxy"] = json!({ "url": proxy.url(), "login": { "userFile": user, "passwordFile": password } });
    });
    let mut process = setup.start();
    process.says("comes from the registry").await;
    assert!(!proxy.targets().is_empty(), "it went through the proxy");
    process.kill();
}
