//! The parameters of a StorageClass: which of them are the host's, the driver's, or nobody's. No client, no clock, no log.

use std::collections::BTreeMap;

use cloud_provider::{VolumeDescription, printable};
use k8s_openapi::api::core::v1::SecretReference;

/// Keys of a class that are not the driver's.
const RESERVED: &str = "csi.storage.k8s.io/";
/// The older key for the filesystem, in any case.
const FSTYPE: &str = "fstype";
/// Secrets of which the content would have to reach the driver's controller.
const CONTROLLERS: [&str; 4] = ["provisioner", "controller-publish", "controller-expand", "controller-modify"];

/// The parameters of a class, sorted by who reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ClassParameters {
    /// The filesystem that the class names.
    pub(super) filesystem: Option<String>,
    /// The driver's.
    pub(super) driver: Vec<(String, String)>,
    /// The secrets that a node needs, as they are named for this volume.
    pub(super) secrets: SecretReferences,
}

/// References to secrets, which stand in the PersistentVolume. Their content is the node plugin's alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SecretReferences {
    pub(super) node_stage: Option<SecretReference>,
    pub(super) node_publish: Option<SecretReference>,
    pub(super) node_expand: Option<SecretReference>,
}

/// The claim for which names of secrets are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecretOwner<'a> {
    pub(super) volume: &'a str,
    pub(super) namespace: &'a str,
    pub(super) claim: &'a str,
    pub(super) annotations: Option<&'a BTreeMap<String, String>>,
}

/// Sorts the parameters of a class, or says what is wrong with them, for a person.
pub(super) fn parameters(
    class: &str,
    all: &BTreeMap<String, String>,
    described: &VolumeDescription,
    owner: SecretOwner<'_>,
) -> Result<ClassParameters, String> {
    let mut sorted = ClassParameters::default();
    let mut reserved = BTreeMap::new();
    for (key, value) in all {
        match key.strip_prefix(RESERVED) {
            Some(FSTYPE) => set_filesystem(class, &mut sorted, value)?,
            Some(rest) => drop(reserved.insert(rest, value.as_str())),
            None if key.eq_ignore_ascii_case(FSTYPE) => set_filesystem(class, &mut sorted, value)?,
            None => sorted.driver.push((key.clone(), value.clone())),
        }
    }
    sorted.secrets = SecretReferences {
        node_stage: secret(class, &mut reserved, "node-stage", owner)?,
        node_publish: secret(class, &mut reserved, "node-publish", owner)?,
        node_expand: secret(class, &mut reserved, "node-expand", owner)?,
    };
    if let Some(what) = CONTROLLERS.iter().find(|it| reserved.keys().any(|key| key.starts_with(*it))) {
        return Err(format!(
            "StorageClass {class} names a secret for {what}: no secret of the cluster enters a provider. Next step: take {RESERVED}{what}-* \
             out of the class; the endpoint's credential in the configuration serves"
        ));
    }
    if let Some(key) = reserved.keys().next() {
        return Err(format!(
            "StorageClass {class}: the parameter {RESERVED}{} is none that is known",
            printable(key, 128)
        ));
    }
    let known = || {
        let all: Vec<_> = described.parameters.iter().map(|it| it.key.as_str()).collect();
        if all.is_empty() { "fstype alone".to_owned() } else { format!("fstype, {}", all.join(", ")) }
    };
    if let Some((key, _)) = sorted.driver.iter().find(|(key, _)| !described.parameters.iter().any(|it| it.key == *key))
    {
        let key = printable(key, 128);
        return Err(format!(
            "StorageClass {class}: driver {} knows no parameter {key}; it knows {}",
            described.driver,
            known()
        ));
    }
    let lacks =
        described.parameters.iter().find(|it| it.required && !sorted.driver.iter().any(|(key, _)| *key == it.key));
    match lacks {
        Some(row) => Err(format!("StorageClass {class} lacks the parameter {}: {}", row.key, row.doc)),
        None => Ok(sorted),
    }
}

fn set_filesystem(class: &str, sorted: &mut ClassParameters, value: &str) -> Result<(), String> {
    if sorted.filesystem.is_some() {
        return Err(format!("StorageClass {class} names the filesystem twice: {FSTYPE} and {RESERVED}{FSTYPE}"));
    }
    sorted.filesystem = Some(value.to_owned());
    Ok(())
}

fn secret(
    class: &str,
    reserved: &mut BTreeMap<&str, &str>,
    what: &str,
    owner: SecretOwner<'_>,
) -> Result<Option<SecretReference>, String> {
    let name = reserved.remove(format!("{what}-secret-name").as_str());
    let namespace = reserved.remove(format!("{what}-secret-namespace").as_str());
    let (name, namespace) = match (name, namespace) {
        (None, None) => return Ok(None),
        (Some(name), Some(namespace)) => (name, namespace),
        _ => {
            return Err(format!(
                "StorageClass {class} names half of the secret for {what}: its name and its namespace go together"
            ));
        }
    };
    let resolved = |text: &str, is_name: bool| {
        let unknown = || format!("StorageClass {class}: {} is no name of a secret for {what}", printable(text, 128));
        resolved(text, is_name, owner).ok_or_else(unknown)
    };
    Ok(Some(SecretReference { name: Some(resolved(name, true)?), namespace: Some(resolved(namespace, false)?) }))
}

/// A name or a namespace with its variables replaced; `None` where one of them is unknown, or nothing is left.
fn resolved(text: &str, is_name: bool, owner: SecretOwner<'_>) -> Option<String> {
    let mut rest = text;
    let mut all = String::new();
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, after) = after.split_once('}')?;
        all.push_str(before);
        all.push_str(match variable {
            "pv.name" => owner.volume,
            "pvc.namespace" => owner.namespace,
            "pvc.name" if is_name => owner.claim,
            _ => {
                let key = variable.strip_prefix("pvc.annotations['")?.strip_suffix("']")?;
                owner.annotations.filter(|_| is_name)?.get(key)?
            }
        });
        rest = after;
    }
    all.push_str(rest);
    let is_allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-' || it == b'.';
    (!all.is_empty() && all.len() <= 253 && all.bytes().all(is_allowed)).then_some(all)
}

#[cfg(test)]
mod tests {
    use cloud_provider::ClassParameter;

    use super::*;

    fn described() -> VolumeDescription {
        let row = |key: &str, required| ClassParameter { key: key.to_owned(), required, ..ClassParameter::default() };
        VolumeDescription {
            driver: "csi.example.com".to_owned(),
            parameters: vec![row("type", false), row("tier", true)],
            ..VolumeDescription::default()
        }
    }

    fn read(pairs: &[(&str, &str)]) -> Result<ClassParameters, String> {
        let all = pairs.iter().chain(&[("tier", "1")]).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let annotations = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
        let owner = SecretOwner { volume: "pvc-1", namespace: "shop", claim: "data", annotations: Some(&annotations) };
        parameters("fast", &all.collect(), &described(), owner)
    }

    /// Cases: csi 12
    #[test]
    fn a_class_names_a_filesystem_once() {
        for key in ["csi.storage.k8s.io/fstype", "fstype", "FSType"] {
            assert_eq!(read(&[(key, "xfs")]).unwrap().filesystem.as_deref(), Some("xfs"), "{key}");
        }
        assert_eq!(read(&[]).unwrap().filesystem, None);
        assert!(read(&[("csi.storage.k8s.io/fstype", "xfs"), ("fsType", "ext4")]).unwrap_err().contains("twice"));
    }

    /// Cases: csi 13
    #[test]
    fn an_unknown_parameter_is_refused_with_those_that_are_known() {
        let why = read(&[("iops", "7")]).unwrap_err();
        assert_eq!(
            why,
            "StorageClass fast: driver csi.example.com knows no parameter iops; it knows fstype, type, tier"
        );
        assert!(read(&[("csi.storage.k8s.io/other", "7")]).unwrap_err().contains("none that is known"));
        let owner = SecretOwner { volume: "", namespace: "", claim: "", annotations: None };
        let why = parameters("fast", &BTreeMap::new(), &described(), owner).unwrap_err();
        assert!(why.contains("lacks the parameter tier"), "{why}");
    }

    /// Cases: csi 14, csi 15, adv 181
    #[test]
    fn names_of_secrets_are_made_and_none_reaches_a_provider() {
        let pair = |name, namespace| {
            [
                ("csi.storage.k8s.io/node-stage-secret-name", name),
                ("csi.storage.k8s.io/node-stage-secret-namespace", namespace),
            ]
        };
        let secret = |name, namespace| read(&pair(name, namespace)).map(|it| it.secrets.node_stage.unwrap());
        let found = secret("key-${pvc.name}-${pvc.annotations['team']}", "${pvc.namespace}").unwrap();
        assert_eq!((found.name.as_deref(), found.namespace.as_deref()), (Some("key-data-red"), Some("shop")));
        for (name, namespace) in [
            ("${pvc.uid}", "a"),
            ("${pvc.annotations['other']}", "a"),
            ("${pv.name", "a"),
            ("a", "${pvc.name}"),
            ("a", "${pvc.annotations['team']}"),
            ("", "a"),
            ("A/b", "a"),
        ] {
            assert!(secret(name, namespace).is_err(), "{name} {namespace}");
        }
        assert!(read(&pair("a", "b")[..1]).unwrap_err().contains("half of the secret"));
        for what in ["provisioner", "controller-publish", "controller-expand", "controller-modify"] {
            let [name, namespace] = ["name", "namespace"].map(|it| format!("csi.storage.k8s.io/{what}-secret-{it}"));
            for pairs in [&[(name.as_str(), "a")][..], &[(name.as_str(), "a"), (namespace.as_str(), "b")]] {
                let why = read(pairs).unwrap_err();
                assert!(why.contains(&format!("for {what}: no secret of the cluster enters a provider")), "{why}");
            }
        }
    }
}
