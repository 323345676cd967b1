//! `aerostat module` with wrong arguments: the object, the cause and the next step.

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use serde_json::json;
use sha256::Digest;
use tests::folder::Folder;
use tests::registry::{Access, Artifact, REPOSITORY, RealRegistry};

use crate::commands::{flag, login, refused};
use crate::setup::{MODULE, artifact};

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_login_for_a_command() {
    let (registry, folder) = (RealRegistry::distribution(Access::Password).await, Folder::new());
    registry.push(&artifact(), Some("1.2.0")).await;
    let ca = flag("ca", &registry.ca_file());
    let reference = format!("{}/{REPOSITORY}:1.2.0", registry.address());
    let inspect = ["inspect", &reference, &ca];
    refused(
        &inspect,
        &["does not let us read acme/provider (401", "it wants a login: name a file with one in --login"],
    )
    .await;
    let wrong = login(&folder, registry.address(), "wrong");
    refused(&[&inspect[..], &[&wrong]].concat(), &["(401 Unauthorized); correct the login in", "login.json"]).await;
    let push = ["push", tests::guests::ACME, &reference, &ca, &wrong];
    refused(&push, &["does not let us write acme/provider (401", "or what it may write"]).await;
    let helper = flag("login", &folder.write("helper.json", r#"{ "credsStore": "desktop" }"#));
    let parts = ["--login ", "leaves the login to the helper \"desktop\"", "nothing is executed here"];
    refused(&[&inspect[..], &[&helper]].concat(), &parts).await;
    let gone = flag("login", &folder.path("gone.json"));
    refused(&[&inspect[..], &[&gone]].concat(), &["gone.json: No such file", "correct the path"]).await;
    let other = login(&folder, "other.example.com", "x");
    refused(&[&inspect[..], &[&other]].concat(), &["it has no login for 127.0.0.1:", "but for other.example.com"])
        .await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_reference_of_a_command() {
    let (registry, folder) = (RealRegistry::distribution(Access::Anyone).await, Folder::new());
    registry.push(&artifact(), Some("1.2.0")).await;
    let (ca, out) = (flag("ca", &registry.ca_file()), flag("out", &folder.path("out.wasm")));
    let repository = format!("{}/{REPOSITORY}", registry.address());
    let pull = async |reference: &str, parts: &[&str]| refused(&["pull", reference, &ca, &out], parts).await;
    let next = "check its host and port in the reference, --ca and --proxy, and try again once it answers";
    pull(
        "nowhere.invalid/acme/provider:1",
        &["registry (https://nowhere.invalid) has a name that does not resolve", next],
    )
    .await;
    let closed = ["registry (https://127.0.0.1:1) cannot be reached: ", "Connection refused", next];
    pull("127.0.0.1:1/acme/provider:1", &closed).await;
    pull("acme/provider:1", &["does not begin with the host of a registry"]).await;
    pull("alice:hunter22@registry.example.com/a", &["a login belongs into a file (--login)"]).await;
    pull(&repository, &["names neither a tag nor a digest", ":1.2.0"]).await;
    pull(&format!("{repository}:9"), &["has nothing under the tag 9 in acme/provider"]).await;
    let blob = format!("{repository}@sha256:{}", Digest::of(MODULE));
    pull(&blob, &["has no such manifest in acme/provider; the digest has to be the manifest's"]).await;
    let two = format!("{repository}@sha256:{}", artifact().digest());
    let other = format!("--digest=sha256:{}", "0".repeat(64));
    refused(&["pull", &two, &ca, &out, &other], &["name two manifests"]).await;

    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [artifact().entry()],
    });
    registry.put_manifest("index", index.to_string().as_bytes()).await;
    pull(&format!("{repository}:index"), &["is an index", "write one of those", &artifact().digest()]).await;
    let two = Artifact::edited(MODULE, |it| it["layers"] = json!([it["layers"][0], it["layers"][0]]));
    registry.push(&two, Some("two")).await;
    pull(&format!("{repository}:two"), &["has 2 layers, and a module is one"]).await;
    let large = Artifact::new(&vec![0; 5 << 20]);
    registry.push(&large, Some("large")).await;
    pull(&format!("{repository}:large"), &["has 5242880 bytes; 4194304 are the most", "build it with"]).await;
    assert!(!folder.path("out.wasm").exists());
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_file_that_is_pushed() {
    let (registry, folder) = (RealRegistry::distribution(Access::Anyone).await, Folder::new());
    let (ca, reference) = (flag("ca", &registry.ca_file()), format!("{}/{REPOSITORY}:1", registry.address()));
    let push = async |name: &str, bytes: &[u8], parts: &[&str]| {
        let file = folder.write(name, bytes).display().to_string();
        refused(&["push", &file, &reference, &ca], parts).await;
    };
    let next = "build it with --target wasm32-wasip2";
    push("core.wasm", b"\0asm\x01\0\0\0", &["core.wasm is a core WebAssembly module", next]).await;
    push("machine.wasm", b"\x7fELF\x02\x01\x01\0", &["machine.wasm is no WebAssembly", next]).await;
    push("empty.wasm", b"", &["empty.wasm is empty", next]).await;
    push("cut.wasm", b"\0asm\x0d\0\x01\0\x07\xff", &["cut.wasm cannot be compiled"]).await;
    push("large.wasm", &vec![0; 5 << 20], &["large.wasm is larger than 4 MiB; build it with opt-level"]).await;
    let gone = folder.path("gone.wasm").display().to_string();
    refused(&["push", &gone, &reference, &ca], &["cannot read ", "gone.wasm; correct the path"]).await;
    let pinned = format!("{reference}@sha256:{}", "0".repeat(64));
    refused(&["push", tests::guests::ACME, &pinned, &ca], &["the reference wants sha256:000"]).await;
    refused(&["inspect", &reference, &ca], &["has nothing under the tag 1"]).await;
}

/// Cases: bad-artifact, bad-signature
#[tokio::test]
async fn bad_input_authority_and_key_of_a_command() {
    let (registry, folder) = (RealRegistry::distribution(Access::Anyone).await, Folder::new());
    registry.push(&artifact(), Some("1.2.0")).await;
    let reference = format!("{}/{REPOSITORY}:1.2.0", registry.address());
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    let file = folder.write("expired.pem", &certificate);
    refused(&["inspect", &reference, &flag("ca", &file)], &["expired.pem; correct --ca", "has expired"]).await;
    refused(&["inspect", &reference], &["registry (https://127.0.0.1:", "invalid peer certificate"]).await;
    let (ca, key) = (flag("ca", &registry.ca_file()), flag("key", &file));
    let parts = ["--key ", "expired.pem is a certificate, and a public key is wanted"];
    refused(&["verify", &reference, &ca, &key], &parts).await;
    let key = flag("key", &folder.path("gone.pub"));
    refused(&["verify", &reference, &ca, &key], &["gone.pub cannot be read: No such file", "correct the path"]).await;
    let parts = ["nothing says who has signed", "aerostat module verify REFERENCE --key"];
    refused(&["verify", tests::guests::ACME, &key], &parts).await;
}
