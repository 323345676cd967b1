//! The parameters of a class, as the vendor's driver has them. Pure.

use aerostat_sdk::form::{Bool, Custom, Integer, OneOf, Text};
use aerostat_sdk::key::Key;
use aerostat_sdk::parameters::Parameters;
use aerostat_sdk::{DesiredVolume, Error, Result};

aerostat_sdk::table! {
    /// All of them, but for tags.
    pub(super) const TABLE;
    KIND: OneOf<&'static VolumeKind> = ("type", OneOf(&[("gp3", &GP3), ("gp2", &GP2), ("io2", &IO2), ("io1", &IO1),
        ("st1", &ST1), ("sc1", &SC1), ("standard", &STANDARD)]), "The kind of volume.").default("gp3");
    IOPS: Integer = ("iops", Integer::between(1, 256_000), "Operations in a second, of gp3, io1 and io2. As many as the kind and the size have, where \
        these are fewer.").otherwise("as AWS has it");
    IOPS_PER_GB: Integer = ("iopsPerGB", Integer::between(1, 1_000), "The same for each GiB. It goes not with `iops`.");
    INCREASE: Bool = ("allowAutoIOPSPerGBIncrease", Bool, "Whether a volume that would have fewer than the kind's least gets those.")
        .default("false");
    THROUGHPUT: Integer = ("throughput", Integer::between(125, 2_000), "MiB in a second, of gp3.").otherwise("as AWS has it: 125");
    ENCRYPTED: Bool = ("encrypted", Bool, "Whether it is encrypted. An account may encrypt all.").default("false");
    KEY: Text = ("kmsKeyId", Text("the ARN of a key"), "With which key it is encrypted, which it then is.")
        .otherwise("the account's");
    BLOCK_EXPRESS: Bool = ("blockExpress", Bool, "Has no effect: each io2 is one of Block Express by now.");
    BLOCK_SIZE: Custom<String> = ("blockSize", WORD, "Of the filesystem, for the node plugin.");
    INODE_SIZE: Custom<String> = ("inodeSize", WORD, "Of the filesystem, for the node plugin.");
    BYTES_PER_INODE: Custom<String> = ("bytesPerInode", WORD, "Of ext3 and ext4, for the node plugin.");
    NUMBER_OF_INODES: Custom<String> = ("numberOfInodes", WORD, "Of ext3 and ext4, for the node plugin.");
    BIG_ALLOC: Bool = ("ext4BigAlloc", Bool, "Whether ext4 has clusters, for the node plugin.").default("false");
    CLUSTER_SIZE: Custom<String> = ("ext4ClusterSize", WORD, "Of ext4 with clusters, for the node plugin.");
    ENCRYPTION: Bool = ("ext4EncryptionSupport", Bool, "Whether ext4 can encrypt files, for the node plugin.").default("false");
}

const WORD: Custom<String> = Custom {
    allowed: "letters and digits",
    parse: |text| text.bytes().all(|it| it.is_ascii_alphanumeric()).then(|| text.to_owned()),
};

/// Parameters from which the node plugin reads how a filesystem is made, and the filesystems that have them. It reads their names in lower case.
const FORMATS: [(&Key<Custom<String>>, &[&str]); 5] = [
    (&BLOCK_SIZE, &["ext3", "ext4", "xfs"]),
    (&BYTES_PER_INODE, &["ext3", "ext4"]),
    (&CLUSTER_SIZE, &["ext4"]),
    (&INODE_SIZE, &["ext3", "ext4", "xfs"]),
    (&NUMBER_OF_INODES, &["ext3", "ext4"]),
];
/// The same for those that are on or off.
const SWITCHES: [(&Key<Bool>, &[&str]); 2] = [(&BIG_ALLOC, &["ext4"]), (&ENCRYPTION, &["ext4"])];

/// A kind of volume. From "Amazon EBS volume types".
#[derive(Debug, Eq, PartialEq)]
pub(super) struct VolumeKind {
    pub(super) name: &'static str,
    /// The operations that one can have; absent where it takes no number of them.
    iops: Option<IopsLimits>,
    has_throughput: bool,
}

/// The numbers of operations in a second that a kind of volume can have.
#[derive(Debug, Eq, PartialEq)]
struct IopsLimits {
    least: u64,
    most: u64,
    most_per_gibibyte: u64,
}

const GP3: VolumeKind = VolumeKind {
    name: "gp3",
    iops: Some(IopsLimits { least: 3_000, most: 80_000, most_per_gibibyte: 500 }),
    has_throughput: true,
};
const IO1: VolumeKind = VolumeKind {
    name: "io1",
    iops: Some(IopsLimits { least: 100, most: 64_000, most_per_gibibyte: 50 }),
    has_throughput: false,
};
const IO2: VolumeKind = VolumeKind {
    name: "io2",
    iops: Some(IopsLimits { least: 100, most: 256_000, most_per_gibibyte: 1_000 }),
    has_throughput: false,
};
const GP2: VolumeKind = VolumeKind { name: "gp2", iops: None, has_throughput: false };
const ST1: VolumeKind = VolumeKind { name: "st1", ..GP2 };
const SC1: VolumeKind = VolumeKind { name: "sc1", ..GP2 };
const STANDARD: VolumeKind = VolumeKind { name: "standard", ..GP2 };

/// A class, as far as it decides what is asked of EC2.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct EbsClass<'a> {
    pub(super) kind: &'static VolumeKind,
    pub(super) iops: Option<u64>,
    pub(super) throughput: Option<u32>,
    pub(super) is_encrypted: bool,
    pub(super) key: Option<&'a str>,
}

impl<'a> EbsClass<'a> {
    /// Those for a volume of so many gibibytes.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the parameter.
    pub(super) fn read(desired: &'a DesiredVolume, gibibytes: u64) -> Result<Self> {
        let class = Parameters::of(desired);
        let (kind, throughput, key) = (class.get(&KIND)?, class.read(&THROUGHPUT)?, class.read(&KEY)?);
        let increases = class.get(&INCREASE)?;
        let (name, asked) = match (class.read(&IOPS)?, class.read(&IOPS_PER_GB)?) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid(
                    "parameters iops and iopsPerGB go not together: take one of them out of the class",
                ));
            }
            (Some(iops), None) => (IOPS.name, Some(iops.into())),
            (None, each) => (IOPS_PER_GB.name, each.map(|it| u64::from(it).saturating_mul(gibibytes))),
        };
        let iops = match (asked, &kind.iops) {
            (Some(_), None) => return Err(not_of(name, kind)),
            (asked, limits) => {
                asked.zip(limits.as_ref()).map(|(asked, limits)| limits.fit(asked, gibibytes, increases))
            }
        };
        if throughput.is_some() && !kind.has_throughput {
            return Err(not_of(THROUGHPUT.name, kind));
        }
        let is_encrypted = class.get(&ENCRYPTED)? || key.is_some();
        Ok(Self { kind, iops, throughput, is_encrypted, key })
    }
}

fn not_of(parameter: &str, kind: &VolumeKind) -> Error {
    Error::invalid(format_args!(
        "volumes of type {} take no {parameter}: take it out of the class, or choose another type",
        kind.name
    ))
}

impl IopsLimits {
    /// As many as were asked for, or as the kind and the size have.
    fn fit(&self, asked: u64, gibibytes: u64, increases: bool) -> u64 {
        let raised = if increases { asked.max(self.least) } else { asked };
        let of_size = self.most_per_gibibyte.saturating_mul(gibibytes);
        // A small volume has the kind's least all the same.
        let most = if of_size >= self.least { self.most.min(of_size) } else { self.most };
        raised.min(most)
    }
}

/// The node plugin's parameters of the filesystem that it makes.
///
/// # Errors
///
/// `invalid` for what the filesystem of the class does not have.
pub(super) fn attributes(desired: &DesiredVolume) -> Result<Vec<(String, String)>> {
    let class = Parameters::of(desired);
    let mut found = Vec::new();
    for (key, filesystems) in FORMATS {
        if let Some(value) = class.read(key)? {
            found.push((key.name, value, filesystems));
        }
    }
    for (key, filesystems) in SWITCHES {
        if class.get(key)? {
            found.push((key.name, "true".to_owned(), filesystems));
        }
    }
    let has = |name: &str| found.iter().any(|(it, ..)| *it == name);
    if has(CLUSTER_SIZE.name) && !has(BIG_ALLOC.name) {
        return Err(Error::invalid("parameter ext4ClusterSize needs ext4BigAlloc: set it to \"true\" in the class"));
    }
    let filesystem = desired.filesystem.as_deref().map(|it| if it.is_empty() { "ext4" } else { it });
    let odd = found.iter().find(|(.., of)| !filesystem.is_some_and(|it| of.contains(&it)));
    if let Some((name, _, of)) = odd {
        return Err(Error::invalid(format_args!(
            "parameter {name} is for filesystems {}, and the volume has {}",
            of.join(", "),
            filesystem.unwrap_or("none: it is a raw block device")
        )));
    }
    Ok(found.into_iter().map(|(name, value, _)| (name.to_ascii_lowercase(), value)).collect())
}

#[cfg(test)]
mod tests;
