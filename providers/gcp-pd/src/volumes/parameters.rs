//! The parameters of a class, as the vendor's driver has them. Pure.

use aerostat_sdk::form::{Custom, Integer, Text};
use aerostat_sdk::parameters::Parameters;
use aerostat_sdk::{DesiredVolume, Result};
use gcp_api::is_name;

aerostat_sdk::table! {
    /// All of them.
    pub(super) const TABLE;
    KIND: Custom<String> = ("type", Custom { allowed: "the name of a type of disk such as pd-balanced",
        parse: |text| is_name(text).then(|| text.to_owned()) }, "The type of disk: pd-standard, pd-balanced, pd-ssd, hyperdisk-balanced \
        and others that the zone has.").default("pd-standard");
    REPLICATION: Custom<()> = ("replication-type", Custom { allowed: "none: a disk in two zones is not made here",
        parse: |text| (text == "none").then_some(()) }, "In how many zones it is. `regional-pd` is refused.").default("none");
    KEY: Text = ("disk-encryption-kms-key", Text("the name of a key such as projects/p/locations/l/keyRings/r/cryptoKeys/k"),
        "With which key it is encrypted.").otherwise("Google's own");
    LABELS: Custom<Vec<(String, String)>> = ("labels", Custom { allowed: "labels such as team=blue,tier=gold, none of which begins with \
        aerostat-", parse: labels }, "Labels of the disk, beside those of its claim.");
    IOPS: Integer = ("provisioned-iops-on-create", Integer::between(1, 1_000_000), "Operations in a second, of types that take a number of \
        them.").otherwise("as Google Cloud has it");
    THROUGHPUT: Custom<u64> = ("provisioned-throughput-on-create", Custom { allowed: "MiB in a second such as 250Mi", parse: mebibytes },
        "MiB in a second, of types that take a number of them.").otherwise("as Google Cloud has it");
}

/// A class, as far as it decides what is asked of Compute Engine.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct PdClass<'a> {
    pub(super) kind: String,
    /// The key that it is encrypted with.
    pub(super) key: Option<&'a str>,
    pub(super) iops: Option<u64>,
    /// MiB in a second.
    pub(super) throughput: Option<u64>,
    pub(super) labels: Vec<(String, String)>,
}

impl<'a> PdClass<'a> {
    /// # Errors
    ///
    /// `invalid`, naming the parameter.
    pub(super) fn read(desired: &'a DesiredVolume) -> Result<Self> {
        let class = Parameters::of(desired);
        class.get(&REPLICATION)?;
        Ok(Self {
            kind: class.get(&KIND)?,
            key: class.read(&KEY)?,
            iops: class.read(&IOPS)?.map(Into::into),
            throughput: class.read(&THROUGHPUT)?,
            labels: class.read(&LABELS)?.unwrap_or_default(),
        })
    }
}

/// Pairs, as Compute Engine takes them, and no marks of ours.
fn labels(text: &str) -> Option<Vec<(String, String)>> {
    let is_allowed = |text: &str| {
        text.len() <= 63
            && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'_'))
    };
    let pair = |text: &str| {
        let (key, value) = text.trim().split_once('=')?;
        let begins_well =
            key.starts_with(|it: char| it.is_ascii_lowercase()) && !key.starts_with(super::marks::RESERVED);
        (begins_well && is_allowed(key) && is_allowed(value)).then(|| (key.to_owned(), value.to_owned()))
    };
    text.split(',').map(pair).collect()
}

fn mebibytes(text: &str) -> Option<u64> {
    text.strip_suffix("Mi")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(parameters: &[(&str, &str)]) -> DesiredVolume {
        let plain = DesiredVolume::of("shop", "data", "u", 1);
        parameters.iter().fold(plain, |it, (key, value)| it.with_parameter(*key, *value))
    }

    #[test]
    fn classes_are_read_as_the_vendors_driver_reads_them() {
        let plain = class(&[]);
        let expected =
            PdClass { kind: "pd-standard".to_owned(), key: None, iops: None, throughput: None, labels: Vec::new() };
        assert_eq!(PdClass::read(&plain), Ok(expected));
        let key = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
        let full = class(&[
            ("type", "hyperdisk-balanced"),
            ("replication-type", "none"),
            ("disk-encryption-kms-key", key),
            ("labels", "team=blue, tier_1="),
            ("provisioned-iops-on-create", "10000"),
            ("provisioned-throughput-on-create", "250Mi"),
        ]);
        let labels = [("team", "blue"), ("tier_1", "")].map(|(key, it)| (key.to_owned(), it.to_owned())).to_vec();
        let kind = "hyperdisk-balanced".to_owned();
        let expected = PdClass { kind, key: Some(key), iops: Some(10_000), throughput: Some(250), labels };
        assert_eq!(PdClass::read(&full), Ok(expected));
    }

    /// Cases: csi 13
    #[test]
    fn classes_that_cannot_be_had_are_refused_by_name() {
        for (key, value, why) in [
            ("type", "pd/ssd", "the name of a type of disk"),
            ("replication-type", "regional-pd", "a disk in two zones is not made here"),
            ("labels", "team", "labels such as"),
            ("labels", "Team=blue", "labels such as"),
            ("labels", "a=b,aerostat-claim-uid=1", "labels such as"),
            ("labels", "=b", "labels such as"),
            ("provisioned-iops-on-create", "0", "1 to 1000000"),
            ("provisioned-throughput-on-create", "250", "such as 250Mi"),
        ] {
            let class = class(&[(key, value)]);
            let refused = PdClass::read(&class).unwrap_err();
            assert!(refused.why().starts_with(&format!("parameter {key}: ")), "{refused:?}");
            assert!(refused.why().contains(why), "{refused:?}");
        }
    }
}
