//! Registries that an operator got wrong: the object, the cause and the next step.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tests::registry::{Answers, Signer};

use crate::setup::{Setup, artifact};

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_registry_that_does_not_exist() {
    let registry = Answers::of(&artifact()).serve().await;
    let mut setup = Setup::at(&registry, &artifact().digest()).led();
    setup.settings.image = oci::Image::parse("nowhere.example.com/acme/provider").unwrap();
    setup.unavailable(&["provider.module.oci (https://nowhere.example.com)", "does not resolve: no such name"]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_login_that_is_missing() {
    let registry = Answers::of(&artifact()).serve().await;
    let mut setup = Setup::at(&registry, &artifact().digest());
    setup.settings.login = Some(setup.folder.path("gone.json"));
    setup.refused(&["provider.module.oci.login", "gone.json: No such file", "what is mounted there"]).await;
    let other = r#"{ "auths": { "other.example.com": { "registrytoken": "t" } } }"#;
    setup.settings.login = Some(setup.folder.write("login.json", other));
    setup.refused(&["it has no login for 127.0.0.1:", "but for other.example.com; add it"]).await;
    assert_eq!(registry.connections(), 0, "nobody is asked without");
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_login_helper() {
    let registry = Answers::of(&artifact()).serve().await;
    let mut setup = Setup::at(&registry, &artifact().digest());
    setup.settings.login = Some(setup.folder.write("login.json", r#"{ "credsStore": "desktop" }"#));
    let next = "kubectl create secret docker-registry";
    setup.refused(&["leaves the login to the helper \"desktop\"", "nothing is executed here", next]).await;
    assert_eq!(registry.connections(), 0);
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_expired_authority() {
    let registry = Answers::of(&artifact()).serve().await;
    let mut setup = Setup::at(&registry, &artifact().digest());
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let expired = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    setup.settings.ca_file = Some(setup.folder.write("expired.pem", expired));
    setup.refused(&["cannot read certificate authorities from", "expired.pem", "`tls.caFile`", "has expired"]).await;
    assert_eq!(registry.connections(), 0);
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_authority_that_is_none() {
    let registry = Answers::of(&artifact()).serve().await;
    let mut setup = Setup::at(&registry, &artifact().digest());
    setup.settings.ca_file = Some(setup.folder.write("empty.pem", ""));
    setup.refused(&["provider.module.oci: cannot read certificate authorities from", "it has no certificate"]).await;
    let other = Answers::default().serve().await;
    setup.settings.ca_file = Some(setup.folder.write("other.pem", other.ca()));
    setup.unavailable(&["provider.module.oci (https://127.0.0.1:", "invalid peer certificate"]).await;
}

/// Cases: bad-signature
#[tokio::test]
async fn bad_input_key_file_that_is_no_public_key() {
    let registry = Answers::of(&artifact()).serve().await;
    let (p256, ed25519) = (Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256), Signer::new(&rcgen::PKCS_ED25519));
    let certificate = CertificateParams::default().self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    for (text, part) in [
        (certificate, "is a certificate, and a public key is wanted: openssl x509 -pubkey"),
        (p256.private_key(), "holds a private key, which nobody needs here"),
        (
            "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\ne30=\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n"
                .to_owned(),
            "holds a private key",
        ),
        (ed25519.public_key(), "is a key on Ed25519"),
        (format!("{}{}", p256.public_key(), p256.public_key()), "something else than one public key"),
        (String::new(), "holds no key; write the public key"),
        ("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n".to_owned(), "is a damaged key; write it again"),
        (rsa(1024), "is an RSA key of 1024 bits; from 2048 to 8192 can be used"),
        (point_cut_off(&p256), "is a damaged key; write it again"),
    ] {
        let setup = Setup::at(&registry, &artifact().digest()).signed_by(&[&p256]);
        setup.folder.write("0.pub", &text);
        setup.refused(&["the key ", "0.pub of provider.module.signedBy.keys", part]).await;
    }
    assert_eq!(registry.connections(), 0);
}

/// Cases: bad-signature
#[tokio::test]
async fn bad_input_odd_key_beside_a_good_one() {
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let digest = artifact().digest();
    let registry = Answers::of(&artifact()).referrers(&digest, &[signer.referrer(&digest)]).serve().await;
    let setup = Setup::at(&registry, &digest).signed_by(&[&signer, &signer]);
    assert!(setup.pulled().await.signer.unwrap().ends_with("0.pub (bundle)"));
    let asked = registry.connections();
    // That another key would do is no reason to go on with one that nobody can read.
    setup.folder.write("1.pub", rsa(1024));
    setup.refused(&["1.pub of provider.module.signedBy.keys", "RSA key of 1024 bits"]).await;
    std::fs::remove_file(setup.folder.path("1.pub")).unwrap();
    setup.refused(&["1.pub of provider.module.signedBy.keys", "No such file"]).await;
    assert_eq!(registry.connections(), asked, "nobody is asked without the keys");
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}

/// An element of DER with a tag.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let head = match length {
        [0, short @ 0..128] => vec![tag, short],
        [high, low] => vec![tag, 0x82, high, low],
    };
    [&head[..], content].concat()
}

/// An RSA key with a modulus of so many bits, which nobody has factors of.
fn rsa(bits: usize) -> String {
    let modulus = element(2, &[vec![0], vec![0xc5; bits / 8]].concat());
    let key = element(0x30, &[modulus, element(2, &[1, 0, 1])].concat());
    let algorithm = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    pem(&element(0x30, &[algorithm.to_vec(), element(3, &[vec![0], key].concat())].concat()))
}

/// A key whose point has lost its last byte.
fn point_cut_off(signer: &Signer) -> String {
    let text = signer.public_key();
    let lines: String = text.lines().filter(|it| !it.starts_with('-')).collect();
    let mut der = STANDARD.decode(lines).unwrap();
    der.pop();
    pem(&der)
}
