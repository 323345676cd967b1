//! The image holds what the Pod and the binary look for, and is the same whoever packs it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use flate2::read::GzDecoder;
use k8s_openapi::api::apps::v1::Deployment;
use pack::PackedFile;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use sha256::Digest;
use tar::Archive;

use crate::packed::{AMD64, ARM64, Compiled, VALUES, VERSION, elf, file, json_of};
use crate::setup::{container, object, template};

/// A blob of the image's folder.
fn blob<'a>(files: &'a [PackedFile], descriptor: &Value) -> &'a [u8] {
    let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let bytes = file(files, &format!("aerostat-image-{VERSION}/blobs/sha256/{digest}"));
    assert_eq!(
        (Digest::of(bytes).to_string(), bytes.len()),
        (digest.to_owned(), descriptor["size"].as_u64().unwrap() as usize)
    );
    bytes
}

fn json_blob(files: &[PackedFile], descriptor: &Value) -> Value {
    serde_json::from_slice(blob(files, descriptor)).unwrap()
}

/// The manifests of the image by their architectures.
fn images(files: &[PackedFile]) -> BTreeMap<String, Value> {
    let entries = json_of(files, &format!("aerostat-image-{VERSION}/index.json"));
    let [entry] = entries["manifests"].as_array().unwrap().as_slice() else { panic!("one image: {entries}") };
    assert_eq!(entry["annotations"]["io.containerd.image.name"], format!("localhost/aerostat:{VERSION}"));
    let index = json_blob(files, entry);
    let named = index["manifests"].as_array().unwrap().iter().map(|image| {
        assert_eq!(image["platform"]["os"], "linux");
        (image["platform"]["architecture"].as_str().unwrap().to_owned(), json_blob(files, image))
    });
    named.collect()
}

/// The paths of a tar file with kind, mode, owner, time and size, in its order.
fn listed(tar: &[u8]) -> Vec<String> {
    let mut archive = Archive::new(tar);
    let entries = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let header = entry.header();
        let kind = if header.entry_type().is_dir() { 'd' } else { '-' };
        let owner = (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap());
        assert_eq!(owner, (0, 0, 0));
        format!("{kind}{:o} {}", header.mode().unwrap(), entry.path().unwrap().display())
    });
    entries.collect()
}

/// A file in a tar file.
fn content(tar: &[u8], path: &str) -> Vec<u8> {
    let mut archive = Archive::new(tar);
    let mut entries = archive.entries().unwrap().map(Result::unwrap);
    let mut bytes = Vec::new();
    entries.find(|it| it.path().unwrap() == Path::new(path)).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    assert_eq!(bytes[4..8], [0; 4], "no time");
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

#[test]
fn the_image_holds_the_program_and_the_authorities_alone() {
    let compiled = Compiled::new();
    let files = compiled.packed();
    let images = images(&files);
    assert_eq!(images.keys().collect::<Vec<_>>(), ["amd64", "arm64"]);
    for (architecture, manifest) in &images {
        let [layer] = manifest["layers"].as_array().unwrap().as_slice() else { panic!("one layer: {manifest}") };
        let tar = unzipped(blob(&files, layer));
        let config = json_blob(&files, &manifest["config"]);
        assert_eq!(config["rootfs"]["diff_ids"], json!([format!("sha256:{}", Digest::of(&tar))]));
        assert_eq!(config["architecture"], **architecture);
        assert_eq!(
            listed(&tar),
            [
                "d755 etc/",
                "d755 etc/ssl/",
                "d755 etc/ssl/certs/",
                // The first place that the program looks at for certificate authorities.
                "-644 etc/ssl/certs/ca-certificates.crt",
                "d755 usr/",
                "d755 usr/local/",
                "d755 usr/local/bin/",
                "-755 usr/local/bin/aerostat",
            ]
        );
        let program = content(&tar, "usr/local/bin/aerostat");
        let compiled = std::fs::read(compiled.folder.path(&format!("aerostat-linux-{architecture}"))).unwrap();
        assert!(program == compiled, "byte for byte");
        let pem = content(&tar, "etc/ssl/certs/ca-certificates.crt");
        let count = CertificateDer::pem_slice_iter(&pem).map(Result::unwrap).count();
        assert!(count > 100, "{count} authorities");

        let container = container(&template());
        let path = config["config"]["Env"][0].as_str().unwrap().strip_prefix("PATH=").unwrap().to_owned();
        let command = container.command.unwrap();
        assert_eq!(config["config"]["Entrypoint"], json!([command[0]]));
        assert_eq!(Path::new(&path).join(&command[0]), Path::new("/usr/local/bin/aerostat"));
    }
}

#[test]
fn the_images_user_is_the_pods() {
    let pod = object::<Deployment>("deployment.yaml").spec.unwrap().template.spec.unwrap();
    let security = pod.security_context.unwrap();
    let user = format!("{}:{}", security.run_as_user.unwrap(), security.run_as_group.unwrap());
    let files = Compiled::new().packed();
    for manifest in images(&files).into_values() {
        assert_eq!(json_blob(&files, &manifest["config"])["config"]["User"], user);
    }
}

#[test]
fn two_images_of_one_build_are_the_same_byte_for_byte() {
    let (one, other) = (Compiled::new(), Compiled::new());
    // Another time, other rights, another order of files in their folder.
    let chart = other.folder.path("chart");
    let values = chart.join("values.yaml");
    let text = std::fs::read(&values).unwrap();
    std::fs::remove_file(&values).unwrap();
    std::fs::write(chart.join("zzz"), "").unwrap();
    std::fs::write(&values, text).unwrap();
    std::fs::remove_file(chart.join("zzz")).unwrap();
    for path in [values, other.folder.path("aerostat-linux-amd64"), other.folder.path("acme.wasm")] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let then = SystemTime::now() - Duration::from_secs(1_000_000);
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(then).unwrap();
    }
    let (first, second) = (one.packed(), other.packed());
    let paths = first.iter().map(|it| it.path.as_str()).filter(|it| !it.contains("/blobs/")).collect::<Vec<_>>();
    let image = format!("aerostat-image-{VERSION}");
    assert_eq!(
        paths,
        [
            &format!("{image}/oci-layout"),
            &format!("{image}/index.json"),
            &format!("{image}.tar"),
            "install-acme.yaml",
            &format!("aerostat-{VERSION}.tgz"),
            "provenance.json",
            &format!("aerostat-bundle-{VERSION}.tar"),
        ]
    );
    for (one, other) in first.iter().zip(&second) {
        assert!(one == other, "{} differs", one.path);
    }
    assert_eq!(first.len(), second.len());

    other.folder.write("chart/values.yaml", VALUES.replace("replicas: 2", "replicas: 3"));
    assert_ne!(first, other.packed());
}

#[test]
fn the_chart_is_packed_as_helm_packs_it() {
    let files = Compiled::new().packed();
    let tar = unzipped(file(&files, &format!("aerostat-{VERSION}.tgz")));
    let paths = ["-644 aerostat/Chart.yaml", "-644 aerostat/templates/deployment.yaml", "-644 aerostat/values.yaml"];
    assert_eq!(listed(&tar), paths);
}

/// The digests of what a packed release holds for registries, by the paths of the repositories.
fn digests(files: &[PackedFile]) -> BTreeMap<String, String> {
    let bundle = oci::Layout::read(&file(files, &format!("aerostat-bundle-{VERSION}.tar")).to_vec().into()).unwrap();
    let artifacts = bundle.artifacts().unwrap();
    artifacts.iter().map(|it| (it.name.to_string(), format!("sha256:{}", it.digest()))).collect()
}

#[test]
fn chart_and_manifests_have_the_digests_of_their_release() {
    let files = Compiled::new().packed();
    let digests = digests(&files);
    let (image, module) = (&digests[&format!("aerostat:{VERSION}")], &digests[&format!("aerostat/acme:{VERSION}")]);
    let tar = unzipped(file(&files, &format!("aerostat-{VERSION}.tgz")));
    let values = String::from_utf8(content(&tar, "aerostat/values.yaml")).unwrap();
    let expected = VALUES.replace("image: \"\"", &format!("image: \"{image}\""));
    assert_eq!(values, expected.replace("acme: \"\"", &format!("acme: \"{module}\"")));
    let manifest = std::str::from_utf8(file(&files, "install-acme.yaml")).unwrap();
    let lines = [
        format!("image: \"registry.example.com/aerostat/acme:{VERSION}\""),
        format!("digest: \"{module}\""),
        format!("image: \"registry.example.com/aerostat:{VERSION}@{image}\" # yours"),
    ];
    assert_eq!(manifest.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn an_image_that_cannot_be_packed_is_told() {
    let check = |change: &dyn Fn(&Compiled), part: &str| {
        let compiled = Compiled::new();
        change(&compiled);
        let refused = compiled.refused();
        assert!(refused.contains(part), "{part}: {refused}");
    };
    let write = |name: &'static str, bytes: Vec<u8>| move |it: &Compiled| drop(it.folder.write(name, &bytes));
    check(&write("aerostat-linux-arm64", elf(AMD64, 1)), "the program for arm64 is none for this architecture");
    check(&write("aerostat-linux-amd64", elf(ARM64, 1)), "the program for amd64 is none for this architecture");
    check(&write("aerostat-linux-amd64", b"#!/bin/sh".to_vec()), "the program for amd64 is none");
    check(&write("acme.wasm", b"other".to_vec()), "acme.module.json describes another module than acme.wasm");
    check(&write("other.wasm", b"other".to_vec()), "other.module.json");
    check(
        &write("chart/Chart.yaml", b"name: aerostat\nversion: 9.9.9\n".to_vec()),
        "has the version \"9.9.9\", and this is",
    );
    check(&write("chart/values.yaml", b"digests:\n  image: \"\"\n".to_vec()), "no place for the digest of acme");
    check(&write("chart/values.yaml", b"image: \"\"\nacme: \"\"\n".to_vec()), "no place for the digest of acme");
    check(&write("install-acme.yaml", b"image: \"registry.example.com/aerostat:1.2.3\"".to_vec()), "DIGEST-OF-THE-MAN");
    check(
        &write("install-acme.yaml", b"digest: sha256:DIGEST-OF-THE-MANIFEST".to_vec()),
        "install-acme.yaml: it has no",
    );
    check(&|it| std::fs::remove_file(it.folder.path("install-acme.yaml")).unwrap(), "cannot read install-acme.yaml");
    check(&|it| std::fs::remove_file(it.folder.path("acme.cdx.json")).unwrap(), "acme.cdx.json");
    check(
        &|it| std::os::unix::fs::symlink("/etc/passwd", it.folder.path("chart/passwd")).unwrap(),
        "aerostat/passwd is neither a file nor a folder",
    );
}

#[test]
fn provenance_names_every_artifact_and_its_sources() {
    let compiled = Compiled::new();
    let files = compiled.packed();
    let statement = json_of(&files, "provenance.json");
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://slsa.dev/provenance/v1");
    let subjects: BTreeMap<_, _> = statement["subject"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["digest"]["sha256"].as_str().unwrap()))
        .collect();
    let bundle = oci::Layout::read(&file(&files, &format!("aerostat-bundle-{VERSION}.tar")).to_vec().into()).unwrap();
    let mut named: BTreeMap<String, String> =
        bundle.artifacts().unwrap().iter().map(|it| (it.name.to_string(), it.digest().to_string())).collect();
    assert_eq!(named.len(), 4, "{named:?}");
    for name in ["aerostat-linux-amd64", "aerostat-linux-arm64", "acme.wasm"] {
        named.insert(name.to_owned(), Digest::of(&std::fs::read(compiled.folder.path(name)).unwrap()).to_string());
    }
    for packed in [format!("aerostat-{VERSION}.tgz"), "install-acme.yaml".to_owned()] {
        named.insert(packed.clone(), Digest::of(file(&files, &packed)).to_string());
    }
    assert_eq!(subjects, named.iter().map(|(name, digest)| (name.as_str(), digest.as_str())).collect());
    let definition = &statement["predicate"]["buildDefinition"];
    assert_eq!(definition["resolvedDependencies"][1]["digest"]["gitCommit"], "0123456789abcdef");
    assert_eq!(definition["internalParameters"]["tools"], json!(["rustc 1.95.0", "zig 0.16.0"]));
}
