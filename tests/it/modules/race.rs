//! Registries and folders that are changed between any two looks at them: what was verified is what is loaded, a thousand
//! times out of a registry and two hundred times out of a folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use oci::PullError;
use sandbox::Module;
use tests::capture::{Capture, Step};
use tests::component;
use tests::random::Random;
use tests::registry::{Answers, Artifact, REPOSITORY, Signer};

use crate::setup::Setup;

const ROUNDS: usize = 1_000;
/// How often a folder is read that somebody writes to: each time costs what was overwritten.
const ROUNDS_OF_FOLDER: usize = 200;
/// One answer of so many is the other version's.
const ONE_IN: usize = 8;

/// Two versions of a module. The same key has signed both, and one digest is configured.
struct Versions {
    signer: Signer,
    wanted: Artifact,
    other: Artifact,
}

impl Versions {
    fn new() -> Self {
        let refused = component::provider("", "(i32.const 256)");
        Self {
            signer: Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256),
            wanted: Artifact::new(&component::only_provider()),
            other: Artifact::new(&refused),
        }
    }

    fn honest(&self) -> Answers {
        let digest = self.wanted.digest();
        Answers::of(&self.wanted).referrers(&digest, &[self.signer.referrer(&digest)])
    }

    /// The same questions, answered with the other version: its manifest, its module, its signature.
    fn swapped(&self) -> Answers {
        let (wanted, other) = (self.wanted.digest(), self.other.digest());
        let (right, wrong) = (self.signer.referrer(&wanted), self.signer.referrer(&other));
        let blob = |it: &Artifact| format!("blobs/sha256:{}", sha256::Digest::of(&it.module));
        let manifest = |it: &Artifact| format!("manifests/sha256:{}", it.digest());
        Answers::of(&self.other)
            .referrers(&wanted, std::slice::from_ref(&wrong))
            .set(&manifest(&self.wanted), Step::bytes(&[], &self.other.manifest))
            .set(&blob(&self.wanted), Step::bytes(&[], &self.other.module))
            .set(&manifest(&right), Step::bytes(&[], &wrong.manifest))
            .set(&blob(&right), Step::bytes(&[], &wrong.module))
    }

    /// An operator's config for a registry without TLS, which costs a third of the time.
    fn setup(&self, registry: &Capture) -> Setup {
        Setup::without_tls(registry, &self.wanted.digest()).signed_by(&[&self.signer])
    }

    /// The loaded bytes have the digest that was verified, and are the version that was configured.
    fn check(&self, name: &str, pulled: oci::Artifact) {
        assert_eq!(pulled.bytes, self.wanted.module);
        assert!(pulled.signer.is_some());
        let module = Module::new(name, pulled.bytes, pulled.sha256).unwrap();
        assert_eq!(module.digest(), sha256::Digest::of(&self.wanted.module));
    }
}

#[tokio::test]
async fn adv_52_a_registry_that_swaps_between_requests_1000_times() {
    let versions = Versions::new();
    let (honest, swapped) = (versions.honest(), versions.swapped());
    let (random, seed) = Random::seeded();
    let random = Mutex::new(random);
    let registry = Capture::http(move |request| match random.lock().unwrap().below(ONE_IN) {
        0 => swapped.answer(request),
        _ => honest.answer(request),
    })
    .await;
    let setup = versions.setup(&registry);
    let (mut loaded, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        match setup.pull().await {
            Ok(pulled) => {
                versions.check(REPOSITORY, pulled);
                loaded += 1;
            }
            Err(PullError::Refused(_) | PullError::Unavailable(_)) => refused += 1,
        }
    }
    // Some version was swapped in about half of all pulls.
    let wanted = ROUNDS / 4..ROUNDS * 3 / 4;
    assert!(wanted.contains(&loaded) && wanted.contains(&refused), "{loaded} {refused}, AEROSTAT_SEED={seed}");
}

#[tokio::test]
async fn adv_52_a_folder_that_somebody_overwrites_is_not_believed() {
    let versions = Versions::new();
    let honest = versions.honest();
    let registry = Capture::http(move |request| honest.answer(request)).await;
    let setup = versions.setup(&registry).cached();
    versions.check("first", setup.pulled().await);
    let folder = setup.cache.clone().unwrap();
    let overwriting = Overwriting::start(folder, versions.other.module.clone());
    for _ in 0..ROUNDS_OF_FOLDER {
        versions.check("again", setup.pulled().await);
    }
    assert!(overwriting.stop() > 10, "there was no race");
    let asked = registry.connections();
    assert!(asked > 5 + 10, "the registry was asked {asked} times");
}

/// A thread that replaces the files of a folder.
struct Overwriting {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<usize>,
}

impl Overwriting {
    fn start(folder: PathBuf, bytes: Vec<u8>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let mut replaced = 0;
            while !stopped.load(Ordering::Relaxed) {
                for file in std::fs::read_dir(&folder).unwrap().filter_map(Result::ok) {
                    replaced += usize::from(replace(&file.path(), &bytes, replaced % 3));
                }
                thread::yield_now();
            }
            replaced
        });
        Self { stop, thread }
    }

    /// How often a file was replaced.
    fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the folder can be written to")
    }
}

/// Replaces a file in one of three ways, and says whether it was there.
fn replace(path: &Path, bytes: &[u8], how: usize) -> bool {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    if name.starts_with('.') || name.starts_with("other") {
        return false;
    }
    let beside = path.with_file_name("other");
    match how {
        0 => std::fs::write(path, bytes).is_ok(),
        1 => std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path)).is_ok(),
        _ => {
            let link = path.with_file_name("other-link");
            let made = std::fs::write(&beside, bytes).and_then(|()| std::os::unix::fs::symlink(&beside, &link));
            made.and_then(|()| std::fs::rename(&link, path)).is_ok()
        }
    }
}
