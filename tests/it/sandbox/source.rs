//! Where modules come from.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use async_trait::async_trait;
use prometheus::Registry;
use sandbox::{ConfigMaps, Digest, Module, Sandbox, Source};
use tests::component;

use crate::setup::{Guest, Held, config_map, digest};

/// No ConfigMaps.
struct Missing;

#[async_trait]
impl ConfigMaps for Missing {
    async fn read(&self, namespace: &str, name: &str, key: &str) -> Result<Vec<u8>, String> {
        Err(format!("there is no key {key} in {namespace}/{name}; create it"))
    }
}

/// A ConfigMap that is another one at every second look.
struct Fickle {
    good: Vec<u8>,
    bad: Vec<u8>,
    reads: AtomicUsize,
}

#[async_trait]
impl ConfigMaps for Fickle {
    async fn read(&self, _: &str, _: &str, _: &str) -> Result<Vec<u8>, String> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(if read.is_multiple_of(2) { self.good.clone() } else { self.bad.clone() })
    }
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whatever is left lies under target/.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The name that the provider in `module` gives itself.
async fn name(sandbox: &Sandbox, module: Module) -> String {
    let provider = Guest::of(Vec::new()).load_into(sandbox, module, &Registry::new()).await.unwrap();
    provider.description().name.clone()
}

/// A thread that replaces `provider.wasm` for as long as this lives.
struct Replacing {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Replacing {
    fn start(folder: PathBuf, contents: [Vec<u8>; 2]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let (file, next) = (folder.join("provider.wasm"), folder.join("next.wasm"));
            for bytes in contents.iter().cycle().take_while(|_| !stopped.load(Ordering::Relaxed)) {
                // By renaming, as kubelets do, and then in place, as careless people do.
                std::fs::write(&next, bytes).unwrap();
                std::fs::rename(&next, &file).unwrap();
                std::fs::write(&file, bytes).unwrap();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Replacing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the file could not be replaced");
        }
    }
}

async fn refusal(source: Source, config_maps: &dyn ConfigMaps) -> String {
    match source.fetch(config_maps).await {
        Ok(_) => panic!("{source} was read"),
        Err(error) => format!("{:#}", anyhow::Error::from(error)),
    }
}

fn file(path: PathBuf, sha256: Digest) -> Source {
    Source::File { path, sha256 }
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let text = refusal(file("/nonexistent/provider.wasm".into(), digest(b"")), &Missing).await;
    assert_eq!(
        text,
        "cannot read module file /nonexistent/provider.wasm; look at provider.module.file.path and at what is mounted \
         there: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn a_folder_is_no_module() {
    let folder = Folder::new("folder");
    let text = refusal(file(folder.0.clone(), digest(b"")), &Missing).await;
    assert!(text.ends_with("not a regular file"), "{text}");
}

#[tokio::test]
async fn a_file_of_more_than_4_mib_is_refused() {
    let folder = Folder::new("large");
    let bytes = vec![0; (4 << 20) + 1];
    let path = folder.file("large.wasm", &bytes);
    let text = refusal(file(path.clone(), digest(&bytes)), &Missing).await;
    let expected =
        format!("module file {} is larger than 4 MiB; build it with opt-level \"s\", lto and strip", path.display());
    assert_eq!(text, expected);
}

#[tokio::test]
async fn another_digest_is_refused() {
    let folder = Folder::new("digest");
    let path = folder.file("other.wasm", b"other bytes");
    let (wanted, found) = (digest(b"these bytes"), digest(b"other bytes"));
    let text = refusal(file(path.clone(), wanted), &Missing).await;
    let expected = format!("module file {} has sha256 {found}, and the configuration wants {wanted}: ", path.display());
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.contains("write their sha256 beside provider.module"), "{text}");
}

#[tokio::test]
async fn a_missing_config_map_is_named() {
    let text = refusal(config_map(digest(b"")), &Missing).await;
    assert_eq!(
        text,
        "cannot read module in ConfigMap kube-system/provider, key provider.wasm: there is no key provider.wasm in \
         kube-system/provider; create it"
    );
}

#[tokio::test]
async fn a_config_map_of_more_than_1_mib_is_refused() {
    let bytes = vec![0; (1 << 20) + 1];
    let text = refusal(config_map(digest(&bytes)), &Held(bytes)).await;
    assert!(
        text.starts_with("module in ConfigMap kube-system/provider, key provider.wasm is larger than 1 MiB"),
        "{text}"
    );
}

#[tokio::test]
async fn adv_52_the_compared_bytes_run_while_the_file_changes() {
    let folder = Folder::new("race");
    let good = component::only_provider();
    let bad = component::provider("", "(i32.const 256)");
    let source = file(folder.file("provider.wasm", &good), digest(&good));
    let sandbox = Sandbox::new(64 << 20).unwrap();
    let replacing = Replacing::start(folder.0.clone(), [bad, good.clone()]);
    let (mut loaded, mut refused) = (0, 0);
    for _ in 0..1000 {
        match source.fetch(&Missing).await {
            Ok(module) => {
                assert_eq!(module.digest(), digest(&good));
                assert_eq!(name(&sandbox, module).await, "minimal");
                loaded += 1;
            }
            Err(_) => refused += 1,
        }
    }
    drop(replacing);
    assert!(loaded > 0 && refused > 0, "there was no race: {loaded} loaded, {refused} refused");
}

#[tokio::test]
async fn adv_52_a_config_map_is_read_once() {
    let good = component::only_provider();
    let bad = component::provider("", "(i32.const 256)");
    let source = config_map(digest(&good));
    let sandbox = Sandbox::new(64 << 20).unwrap();
    let fickle = Fickle { good, bad, reads: AtomicUsize::new(0) };
    for round in 0..1000 {
        match source.fetch(&fickle).await {
            Ok(module) => assert_eq!(name(&sandbox, module).await, "minimal"),
            Err(error) => assert!(round % 2 == 1, "{error}"),
        }
        assert_eq!(fickle.reads.load(Ordering::Relaxed), round + 1);
    }
}
