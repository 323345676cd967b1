//! The folder that keeps what was pulled, and is not believed.

use std::path::PathBuf;

use std::time::SystemTime;

use oci::{Cache, Puller};
use sha256::Digest;
use tests::capture::Capture;
use tests::registry::{Answers, Artifact, Signer};

use crate::setup::{MODULE, Setup, artifact};

/// A registry with a signed module, and what the operator has written.
async fn signed() -> (Capture, Setup, Signer) {
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let digest = artifact().digest();
    let registry = Answers::of(&artifact()).referrers(&digest, &[signer.referrer(&digest)]).serve().await;
    let setup = Setup::at(&registry, &digest).signed_by(&[&signer]).cached();
    (registry, setup, signer)
}

fn file(setup: &Setup, name: &str) -> PathBuf {
    setup.cache.as_ref().unwrap().join(name)
}

#[tokio::test]
async fn with_everything_there_the_registry_is_not_asked() {
    let (registry, mut setup, _) = signed().await;
    let first = setup.pulled().await;
    assert!(!first.is_cached);
    let asked = registry.connections();
    // Not even the login is read.
    setup.settings.login = Some(setup.folder.path("gone.json"));
    let second = setup.pulled().await;
    assert!(second.is_cached);
    assert_eq!((&second.bytes[..], second.signer), (MODULE, first.signer));
    assert_eq!(registry.connections(), asked);
    drop(registry);
    setup.pulled().await;
}

/// Whether the folder still holds the module of `digest` with its signature, once another one was pulled into a full folder.
/// `change` is done to the settings for that one, and it serves meanwhile, if `serves`.
async fn outlives_another(change: impl FnOnce(&mut oci::ModuleSettings, Digest), serves: bool) -> bool {
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let (first, second) = (artifact(), Artifact::new(b"the next module"));
    let mut answers = Answers::default();
    for it in [&first, &second] {
        answers = answers.with(it).referrers(&it.digest(), &[signer.referrer(&it.digest())]);
    }
    let registry = answers.serve().await;
    let setup = Setup::at(&registry, &first.digest()).signed_by(&[&signer]).cached();
    setup.pulled().await;
    // What is kept was used long ago, and what has filled the folder is new.
    let folder = setup.cache.clone().unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let file = std::fs::File::options().append(true).open(entry.unwrap().path()).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    std::fs::File::create(folder.join("7".repeat(64))).unwrap().set_len(32 << 20).unwrap();

    let [first, second] = [first, second].map(|it| Digest::parse(&it.digest()).unwrap());
    let mut settings = oci::ModuleSettings { digest: second, ..setup.settings.clone() };
    change(&mut settings, first);
    let cache = Cache::open(&folder).await.unwrap();
    let puller = Puller::new(settings, setup.outside.clone(), Some(cache)).keeping(serves.then_some(first));
    puller.pull().await.unwrap();
    drop(registry);
    setup.pull().await.is_ok_and(|it| it.is_cached && it.signer.is_some())
}

#[tokio::test]
async fn the_serving_module_and_the_one_before_it_are_kept() {
    assert!(outlives_another(|_, _| (), true).await, "it serves while the next one is fetched");
    assert!(outlives_another(|it, first| it.previous = Some(first), false).await, "it is named as previous");
    assert!(!outlives_another(|_, _| (), false).await, "nobody needs it");
}

#[tokio::test]
async fn without_the_folder_a_registry_that_is_down_is_waited_for() {
    let (registry, setup, _) = signed().await;
    drop(registry);
    setup.unavailable(&["cannot be pulled", "cannot be reached", "Connection refused"]).await;
}

#[tokio::test]
async fn adv_65_a_tampered_file_is_deleted_and_fetched() {
    let (registry, setup, _) = signed().await;
    setup.pulled().await;
    let names: Vec<_> =
        std::fs::read_dir(setup.cache.as_ref().unwrap()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "manifest, module, bundle, and which bundle it is: {names:?}");
    for name in names {
        let path = file(&setup, name.to_str().unwrap());
        let right = std::fs::read(&path).unwrap();
        let mut wrong = right.clone();
        wrong[right.len() / 2] ^= 1;
        std::fs::write(&path, &wrong).unwrap();
        let asked = registry.connections();
        assert_eq!(setup.pulled().await.bytes, MODULE, "{name:?}");
        assert!(registry.connections() > asked, "{name:?} was believed");
        assert_eq!(std::fs::read(&path).unwrap(), right, "{name:?} is mended");
        assert!(setup.pulled().await.is_cached, "{name:?}");
    }
}

#[tokio::test]
async fn a_key_that_is_taken_away_counts_for_the_folder_too() {
    let (registry, setup, signer) = signed().await;
    setup.pulled().await;
    let other = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let key = setup.folder.path("0.pub");
    std::fs::write(&key, other.public_key()).unwrap();
    setup.refused(&["is not by a key of provider.module.signedBy.keys"]).await;
    drop(registry);
    setup.unavailable(&["cannot be reached"]).await;
    std::fs::remove_file(&key).unwrap();
    setup.refused(&["0.pub of provider.module.signedBy.keys", "No such file"]).await;
    std::fs::write(&key, signer.public_key()).unwrap();
    assert!(setup.pulled().await.is_cached);
}

#[tokio::test]
async fn a_module_kept_unsigned_is_not_taken_for_signed() {
    let (registry, mut setup, signer) = signed().await;
    let signed_by = setup.settings.signed_by.take();
    assert_eq!(setup.pulled().await.signer, None);
    setup.settings.signed_by = signed_by;
    let asked = registry.connections();
    assert!(setup.pulled().await.signer.is_some());
    assert!(registry.connections() > asked);

    // A signature that is planted has to be one.
    let bundle = signer.bundle(&Signer::statement(&"7".repeat(64))).to_string();
    let digest = sha256::Digest::of(bundle.as_bytes());
    std::fs::write(file(&setup, &digest.to_string()), bundle).unwrap();
    let named = format!(r#"[{{"Bundle":"sha256:{digest}"}}]"#);
    std::fs::write(file(&setup, &format!("{}.signatures", artifact().digest())), named).unwrap();
    drop(registry);
    setup.unavailable(&["cannot be reached"]).await;
}
