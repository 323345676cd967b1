use std::collections::BTreeMap;

use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

use super::*;
use crate::descriptor::Platform;

/// An image for two machines with an SBOM, and a module.
fn layout() -> Layout {
    let mut layout = Layout::default();
    let images = ["amd64", "arm64"].map(|architecture| {
        let manifest = NewManifest {
            artifact_type: None,
            config: layout.add_blob("application/vnd.oci.image.config.v1+json", architecture.to_owned()),
            layers: vec![layout.add_blob("application/vnd.oci.image.layer.v1.tar", format!("for {architecture}"))],
            subject: None,
            annotations: BTreeMap::new(),
        };
        let platform = Platform { architecture: architecture.to_owned(), os: "linux".to_owned() };
        Descriptor { platform: Some(platform), ..layout.add_manifest(&manifest) }
    });
    let index = layout.add_index(&images, &BTreeMap::new());
    layout.add_referrer(&images[0], "application/vnd.cyclonedx+json", "sbom.json", "{}");
    layout.add_name(&LayoutName::parse("aerostat:0.1.0").unwrap(), index);
    let module = layout.add_module(b"a module".to_vec(), &PushedInterfaces::default(), BTreeMap::new());
    layout.add_name(&LayoutName::parse("acme/provider:1.2.0").unwrap(), module);
    layout
}

/// The files of [`layout`], which a test can change.
fn files() -> Vec<(String, Vec<u8>)> {
    layout().files().into_iter().map(|(path, bytes)| (path, bytes.to_vec())).collect()
}

fn header(size: usize) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size as u64);
    header
}

/// A path goes into the header as it stands, as a hostile one would.
fn with_path(mut header: Header, path: &str) -> Header {
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_cksum();
    header
}

fn tar_of(files: &[(String, Vec<u8>)]) -> Bytes {
    let mut builder = Builder::new(Vec::new());
    for (path, bytes) in files {
        builder.append(&with_path(header(bytes.len()), path), &**bytes).unwrap();
    }
    builder.into_inner().unwrap().into()
}

fn refused(tar: &Bytes) -> String {
    match Layout::read(tar) {
        Err(because) => because,
        Ok(layout) => layout.artifacts().unwrap_err(),
    }
}

#[track_caller]
fn check_refused(part: &str, change: impl FnOnce(&mut Vec<(String, Vec<u8>)>)) {
    let mut files = files();
    change(&mut files);
    let because = refused(&tar_of(&files));
    assert!(because.contains(part), "{part}: {because}");
}

/// With another index.
#[track_caller]
fn check_index_refused(part: &str, change: impl FnOnce(&mut Value)) {
    check_refused(part, |files| {
        let mut index: Value = serde_json::from_slice(&files[1].1).unwrap();
        change(&mut index);
        files[1].1 = index.to_string().into_bytes();
    });
}

/// With a manifest, which gets a name.
#[track_caller]
fn check_manifest_refused(part: &str, media_type: &str, manifest: &Value) {
    let bytes = manifest.to_string().into_bytes();
    let mut entry = Descriptor::of(media_type, &bytes);
    entry.annotations.insert(NAME.to_owned(), "odd:1".to_owned());
    check_refused(part, |files| {
        let mut index: Value = serde_json::from_slice(&files[1].1).unwrap();
        index["manifests"].as_array_mut().unwrap().push(serde_json::to_value(entry).unwrap());
        files[1].1 = index.to_string().into_bytes();
        files.push((format!("blobs/sha256/{}", Digest::of(&bytes)), bytes));
    });
}

#[test]
fn a_file_holds_what_was_put_into_it() {
    let layout = layout();
    let tar = Bytes::from(layout.tar());
    assert_eq!(tar, self::layout().tar(), "the same artifacts make the same bytes");
    let read = Layout::read(&tar).unwrap();
    assert_eq!(read, layout);
    let named = read.artifacts().unwrap();
    let names: Vec<_> = named.iter().map(|it| it.name.to_string()).collect();
    assert_eq!(names, ["acme/provider:1.2.0", "aerostat:0.1.0"]);
    let counts: Vec<_> = named.iter().map(|it| (it.manifests.len(), it.referrers.len())).collect();
    assert_eq!(counts, [(1, 0), (3, 1)]);
    assert_eq!(named[1].referrers[0].subject, Some(named[1].manifests[0].digest));
    let paths = layout.files().into_iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(paths[..2], ["oci-layout", "index.json"]);
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let tar = Bytes::from(layout().tar());
    let content = tar.len() - 1024;
    for end in (0..content).step_by(127) {
        refused(&tar.slice(..end));
    }
    assert_eq!(refused(&Bytes::new()), "has no oci-layout");
    assert!(refused(&Bytes::from(vec![b'x'; 2048])).contains("is cut off or damaged"));
    assert!(refused(&tar.slice(..content - 600)).contains("is cut off"));
}

#[test]
fn a_changed_byte_is_found() {
    check_refused("with other bytes: they have sha256", |files| files[2].1[0] ^= 1);
    check_refused("which is not there", |files| drop(files.pop()));
    check_refused("which nothing names", |files| {
        files.push((format!("blobs/sha256/{}", Digest::of(b"more")), b"more".to_vec()));
    });
}

#[test]
fn paths_and_kinds_that_have_no_place_are_refused() {
    for path in [
        "../../etc/passwd",
        "/etc/passwd",
        "blobs/sha256/../../../etc/cron.d/x",
        "blobs/sha256/00",
        "./index.json",
        "blobs/sha512/00",
    ] {
        check_refused("which has no place in it", |files| files.push((path.to_owned(), Vec::new())));
    }
    let upper = format!("blobs/sha256/{}", Digest::of(b"").to_string().to_uppercase());
    check_refused("which has no place in it", |files| files.push((upper, Vec::new())));
    check_refused("holds index.json twice", |files| files.push(files[1].clone()));
    check_refused("more than 1024 files", |files| {
        let blobs = (0..1024).map(|it: u32| it.to_string().into_bytes());
        files.extend(blobs.map(|it| (format!("blobs/sha256/{}", Digest::of(&it)), it)));
    });
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Directory,
        EntryType::Fifo,
        EntryType::Char,
        EntryType::GNULongName,
        EntryType::GNUSparse,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
    ] {
        let mut header = header(0);
        header.set_entry_type(kind);
        let mut builder = Builder::new(Vec::new());
        builder.append(&with_path(header, "index.json"), &[][..]).unwrap();
        let because = refused(&builder.into_inner().unwrap().into());
        assert!(because.contains("which is no file but a link"), "{kind:?}: {because}");
    }
}

#[test]
fn sizes_are_judged_before_they_cost() {
    let giant = |size: usize| {
        let header = with_path(header(size), "index.json");
        Bytes::from([header.as_bytes().as_slice(), &[0; 1024]].concat())
    };
    assert!(refused(&giant(BLOB + 1)).contains("67108864 are the most"));
    assert!(refused(&giant(BLOB)).contains("is cut off"));
    assert!(refused(&giant(usize::MAX >> 1)).contains("are the most"));
    check_refused("has an index.json of 1048577 bytes", |files| files[1].1 = vec![b' '; (1 << 20) + 1]);
    check_refused("has an oci-layout that cannot be read", |files| files[0].1 = b"[".to_vec());
    check_refused("is in version \"2.0.0\"", |files| files[0].1 = br#"{"imageLayoutVersion":"2.0.0"}"#.to_vec());
}

#[test]
fn an_index_names_each_thing_once_and_as_it_is() {
    check_index_refused("names no artifact", |index| index["manifests"] = json!([]));
    check_index_refused("names 257 things", |index| {
        index["manifests"] = json!(vec![index["manifests"][0].clone(); 257]);
    });
    check_index_refused("names more than 512 manifests", |index| {
        let names = (0..200).map(|nth| {
            let mut entry = index["manifests"][1].clone();
            entry["annotations"][NAME] = json!(format!("aerostat:{nth}"));
            entry
        });
        index["manifests"] = json!(names.collect::<Vec<_>>());
    });
    check_index_refused("has two things of the name", |index| {
        let mut twice = index["manifests"][1].clone();
        twice["size"] = index["manifests"][1]["size"].clone();
        index["manifests"].as_array_mut().unwrap().push(twice);
    });
    for name in ["../../v2:1", "registry.example.com:5000/a:1", "A:1", "a:b/c", ""] {
        check_index_refused("which is no repository with a tag", |index| {
            index["manifests"][1]["annotations"][NAME] = json!(name)
        });
    }
    check_index_refused("which has no name and refers to nothing", |index| {
        index["manifests"][1]["annotations"] = json!({});
    });
    check_index_refused("bytes, and it has", |index| index["manifests"][1]["size"] = json!(7));
    check_index_refused("no sha256", |index| index["manifests"][1]["digest"] = json!("sha256:../../x"));
    check_index_refused("which is no manifest", |index| index["manifests"][1]["mediaType"] = json!("text/html"));
    check_index_refused("calls itself otherwise", |index| index["manifests"][1]["mediaType"] = json!(MANIFEST));
    check_index_refused("refers to what is not there", |index| {
        drop(index["manifests"].as_array_mut().unwrap().remove(1))
    });
}

#[test]
fn manifests_are_read_in_one_way() {
    let empty = json!({ "mediaType": EMPTY.0, "digest": format!("sha256:{}", Digest::of(EMPTY.1)), "size": 2 });
    let both = json!({ "config": empty, "layers": [], "manifests": [] });
    check_manifest_refused("is a manifest and an index at once", MANIFEST, &both);
    let missing = Descriptor::of(MANIFEST, b"not there");
    check_manifest_refused("which is not there", INDEX, &json!({ "manifests": [missing] }));
    check_manifest_refused("which is not there", MANIFEST, &json!({ "config": empty, "layers": [missing] }));
    check_manifest_refused("an index of more than 32", INDEX, &json!({ "manifests": vec![missing; 33] }));
    let own = layout().entries[1].clone();
    assert_eq!(own.media_type, INDEX);
    check_manifest_refused("an index in an index", INDEX, &json!({ "manifests": [own] }));
    check_manifest_refused("is no manifest", MANIFEST, &json!([1]));
    let layers = json!({ "config": empty, "layers": vec![empty.clone(); 129] });
    check_manifest_refused("has more than 128 layers", MANIFEST, &layers);
}
