//! The folder alone.

use super::*;

struct Folder(PathBuf);

impl Folder {
    async fn open() -> (Self, Cache) {
        let path = std::env::temp_dir().join(format!("aerostat-cache-{}", Uuid::new_v4()));
        let cache = Cache::open(&path).await.unwrap();
        (Self(path), cache)
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(&self.0).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_kept_module_comes_back() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, cache) = Folder::open().await;
    let digest = Digest::of(b"module");
    assert_eq!(cache.get(digest, 10).await, None);
    cache.put(digest, b"module").await;
    assert_eq!(cache.get(digest, 10).await.as_deref(), Some(&b"module"[..]));
    assert_eq!(folder.files(), [digest.to_string()], "nothing unfinished stays");
    assert_eq!(std::fs::metadata(&folder.0).unwrap().permissions().mode() & 0o777, 0o700);

    let found = [
        FoundSignature::Bundle("sha256:a".to_owned()),
        FoundSignature::Payload("sha256:b".to_owned(), "sig".to_owned()),
    ];
    for found in found {
        cache.put_signature(digest, &found).await;
        assert_eq!(cache.signatures(digest).await, [found]);
    }
}

#[tokio::test]
async fn adv_65_a_wrong_file_is_deleted() {
    let (folder, cache) = Folder::open().await;
    let digest = Digest::of(b"module");
    let path = folder.0.join(digest.to_string());
    let elsewhere = folder.0.join("elsewhere");
    std::fs::write(&elsewhere, b"module").unwrap();
    let plant: [(&str, &dyn Fn()); 5] = [
        ("other bytes", &|| std::fs::write(&path, b"mOdule").unwrap()),
        ("too many", &|| std::fs::write(&path, b"module and more").unwrap()),
        ("none", &|| std::fs::write(&path, b"").unwrap()),
        ("a link", &|| std::os::unix::fs::symlink(&elsewhere, &path).unwrap()),
        ("a pipe", &|| {
            let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
            assert!(made.success());
        }),
    ];
    for (what, plant) in plant {
        plant();
        assert_eq!(cache.get(digest, 10).await, None, "{what}");
        assert!(std::fs::symlink_metadata(&path).is_err(), "{what} is still there");
    }
    assert!(elsewhere.exists());
    let signatures = folder.0.join(format!("{digest}.signatures"));
    std::fs::write(&signatures, b"{").unwrap();
    assert_eq!(cache.signatures(digest).await, []);
    assert!(!signatures.exists());
}

#[tokio::test]
async fn adv_63_no_flipped_byte_is_read() {
    let (folder, cache) = Folder::open().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(4_000).collect();
    let digest = Digest::of(&bytes);
    for at in (0..4_000).step_by(100) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        std::fs::write(folder.0.join(digest.to_string()), &flipped).unwrap();
        assert_eq!(cache.get(digest, 4_000).await, None, "{at}");
    }
}

#[tokio::test]
async fn the_module_used_longest_ago_goes_first() {
    let (folder, cache) = Folder::open().await;
    let bytes = |it: u8| vec![it; 1_000];
    let digests: Vec<_> = (0..5).map(|it| Digest::of(&bytes(it))).collect();
    for (age, digest) in digests.iter().enumerate() {
        cache.put(*digest, &bytes(u8::try_from(age).unwrap())).await;
        let file = std::fs::File::options().append(true).open(folder.0.join(digest.to_string())).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(1_000 - age as u64)).unwrap();
    }
    let old = folder.0.join(format!("{UNFINISHED}x"));
    std::fs::write(&old, b"").unwrap();
    std::fs::File::options().append(true).open(&old).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    std::fs::write(folder.0.join("lost+found"), bytes(9)).unwrap();

    assert!(cache.get(digests[1], 1_000).await.is_some(), "it was used now");
    cache.prune_to(3_000, &[digests[0].to_string()].into()).await.unwrap();
    let mut left =
        vec![digests[0].to_string(), digests[1].to_string(), digests[4].to_string(), "lost+found".to_owned()];
    left.sort();
    assert_eq!(folder.files(), left);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_to_is_named() {
    let (folder, _) = Folder::open().await;
    let file = folder.0.join("file");
    std::fs::write(&file, b"").unwrap();
    let error = Cache::open(&file).await.unwrap_err();
    assert!(
        error.contains(&format!("--module-cache {}", file.display())) && error.contains("leave the flag out"),
        "{error}"
    );
    assert!(Cache::open(&file.join("deeper")).await.is_err());
}
