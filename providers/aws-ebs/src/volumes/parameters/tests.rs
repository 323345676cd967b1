use aerostat_sdk::form::Form as _;

use super::*;

const EIGHT: u64 = 8;

fn desired(parameters: &[(&str, &str)]) -> DesiredVolume {
    let plain = DesiredVolume::of("default", "data", "uid", EIGHT << 30);
    parameters.iter().fold(plain, |it, (key, value)| it.with_parameter(*key, *value))
}

/// A class of these parameters asks for this, for a volume of eight gibibytes.
fn asks(parameters: &[(&str, &str)], kind: &str, iops: Option<u64>, throughput: Option<u32>, key: Option<&str>) {
    let desired = desired(parameters);
    let read = EbsClass::read(&desired, EIGHT).unwrap();
    let found = (read.kind.name, read.iops, read.throughput, read.key);
    assert_eq!(found, (kind, iops, throughput, key), "{parameters:?}");
    let is_encrypted = key.is_some() || parameters.contains(&("encrypted", "true"));
    assert_eq!(read.is_encrypted, is_encrypted, "{parameters:?}");
}

/// A class of these parameters is refused, with this reason.
fn refuses(parameters: &[(&str, &str)], why: &str) {
    let desired = desired(parameters);
    let refused = EbsClass::read(&desired, EIGHT).map(drop).and_then(|()| attributes(&desired).map(drop));
    assert!(matches!(&refused, Err(Error::Invalid(it)) if it.contains(why)), "{parameters:?}: {refused:?}");
}

/// The node plugin is told this of the filesystem.
fn tells(parameters: &[(&str, &str)], filesystem: &str, expected: &[(&str, &str)]) {
    let desired = DesiredVolume { filesystem: Some(filesystem.to_owned()), ..desired(parameters) };
    let told = attributes(&desired).unwrap();
    assert!(told.iter().map(|(key, value)| (&**key, &**value)).eq(expected.iter().copied()), "{told:?}");
}

/// A test for each row.
macro_rules! rows {
    ($($name:ident: $function:ident($($argument:expr),* $(,)?);)+) => {
        $(#[test] fn $name() { $function($($argument),*); })+
    };
}

rows! {
    a_class_without_parameters_is_gp3: asks(&[], "gp3", None, None, None);
    parameter_type_gp2: asks(&[("type", "gp2")], "gp2", None, None, None);
    parameter_type_gp3: asks(&[("type", "gp3")], "gp3", None, None, None);
    parameter_type_io1: asks(&[("type", "io1"), ("iops", "200")], "io1", Some(200), None, None);
    parameter_type_io2: asks(&[("type", "io2"), ("iops", "200")], "io2", Some(200), None, None);
    parameter_type_st1: asks(&[("type", "st1")], "st1", None, None, None);
    parameter_type_sc1: asks(&[("type", "sc1")], "sc1", None, None, None);
    parameter_type_standard: asks(&[("type", "standard")], "standard", None, None, None);
    parameter_type_of_no_kind: refuses(&[("type", "gp4")], "parameter type: \"gp4\" is not gp3, gp2");
    parameter_iops: asks(&[("iops", "3500")], "gp3", Some(3_500), None, None);
    parameter_iops_of_io1_above_its_size: asks(&[("type", "io1"), ("iops", "900")], "io1", Some(400), None, None);
    parameter_iops_of_gp3_below_its_least: asks(&[("iops", "100")], "gp3", Some(100), None, None);
    parameter_iops_that_is_no_number: refuses(&[("iops", "fast")], "parameter iops: \"fast\" is not a whole number");
    parameter_iops_of_gp2: refuses(&[("type", "gp2"), ("iops", "100")], "volumes of type gp2 take no iops");
    parameter_iops_per_gb: asks(&[("type", "io2"), ("iopsPerGB", "50")], "io2", Some(400), None, None);
    parameter_iops_per_gb_above_its_most: asks(&[("type", "io1"), ("iopsPerGB", "100")], "io1", Some(400), None, None);
    parameter_iops_per_gb_beside_iops: refuses(&[("iops", "9"), ("iopsPerGB", "9")], "go not together");
    parameter_iops_per_gb_of_st1: refuses(&[("type", "st1"), ("iopsPerGB", "9")], "type st1 take no iopsPerGB");
    parameter_iops_per_gb_of_nothing: refuses(&[("iopsPerGB", "0")], "parameter iopsPerGB: \"0\" is not");
    parameter_auto_increase: asks(&[("iopsPerGB", "9"), ("allowAutoIOPSPerGBIncrease", "true")], "gp3", Some(3_000), None, None);
    parameter_auto_increase_that_is_off:
        asks(&[("iopsPerGB", "9"), ("allowAutoIOPSPerGBIncrease", "false")], "gp3", Some(72), None, None);
    parameter_auto_increase_without_iops: asks(&[("allowAutoIOPSPerGBIncrease", "true")], "gp3", None, None, None);
    parameter_auto_increase_that_is_no_switch: refuses(&[("allowAutoIOPSPerGBIncrease", "yes")], "is not true or false");
    parameter_throughput: asks(&[("throughput", "500")], "gp3", None, Some(500), None);
    parameter_throughput_of_io2: refuses(&[("type", "io2"), ("throughput", "500")], "type io2 take no throughput");
    parameter_throughput_too_small: refuses(&[("throughput", "124")], "from 125 to 2000");
    parameter_encrypted: asks(&[("encrypted", "true")], "gp3", None, None, None);
    parameter_encrypted_that_is_no_switch: refuses(&[("encrypted", "yes")], "parameter encrypted: \"yes\" is not true or false");
    parameter_kms_key_id: asks(&[("kmsKeyId", "arn:aws:kms:r:1:key/2")], "gp3", None, None, Some("arn:aws:kms:r:1:key/2"));
    parameter_block_express: asks(&[("type", "io2"), ("blockExpress", "true")], "io2", None, None, None);
    parameter_block_size: tells(&[("blockSize", "1024")], "xfs", &[("blocksize", "1024")]);
    parameter_block_size_that_is_no_word: refuses(&[("blockSize", "1024 -f")], "is not letters and digits");
    parameter_inode_size: tells(&[("inodeSize", "512")], "ext3", &[("inodesize", "512")]);
    parameter_bytes_per_inode: tells(&[("bytesPerInode", "8192")], "", &[("bytesperinode", "8192")]);
    parameter_number_of_inodes: tells(&[("numberOfInodes", "99")], "ext4", &[("numberofinodes", "99")]);
    parameter_ext4_big_alloc: tells(&[("ext4BigAlloc", "true")], "ext4", &[("ext4bigalloc", "true")]);
    parameter_ext4_big_alloc_that_is_off: tells(&[("ext4BigAlloc", "false")], "xfs", &[]);
    parameter_ext4_cluster_size: tells(&[("ext4BigAlloc", "true"), ("ext4ClusterSize", "16384")], "ext4",
        &[("ext4clustersize", "16384"), ("ext4bigalloc", "true")]);
    parameter_ext4_cluster_size_alone: refuses(&[("ext4ClusterSize", "16384")], "needs ext4BigAlloc");
    parameter_ext4_encryption: tells(&[("ext4EncryptionSupport", "true")], "ext4", &[("ext4encryptionsupport", "true")]);
}

#[test]
fn parameters_of_a_filesystem_are_refused_for_another() {
    let of = |filesystem: Option<&str>, key: &str| {
        let asked = DesiredVolume { filesystem: filesystem.map(str::to_owned), ..desired(&[(key, "true")]) };
        attributes(&asked)
    };
    for (filesystem, key) in
        [(Some("xfs"), "bytesPerInode"), (Some("ext3"), "ext4BigAlloc"), (Some("ntfs"), "blockSize")]
    {
        assert!(matches!(of(filesystem, key), Err(Error::Invalid(why)) if why.contains(key)), "{key}");
    }
    let block = of(None, "blockSize");
    assert!(matches!(&block, Err(Error::Invalid(why)) if why.contains("raw block device")), "{block:?}");
    assert_eq!(attributes(&DesiredVolume { filesystem: None, ..desired(&[]) }), Ok(Vec::new()));
}

#[test]
fn kinds_have_their_words_and_limits() {
    assert_eq!(KIND.fallback().map(|it| it.name), Some("gp3"));
    assert!([&GP2, &GP3, &IO1, &IO2, &ST1, &SC1, &STANDARD].iter().all(|it| KIND.allowed().contains(it.name)));
    let kind: &VolumeKind = &IO2;
    let limits = kind.iops.as_ref().unwrap();
    assert_eq!((limits.fit(1, 1, true), limits.fit(9_999_999, 1_000, false)), (100, 256_000));
    assert_eq!((limits.fit(5_000, 4, false), limits.fit(50, 4, false)), (4_000, 50));
    assert_eq!(GP3.iops.as_ref().unwrap().fit(9_000, 1, false), 9_000, "its least is not of its size");
    assert_eq!(WORD.parse("4k"), Some("4k".to_owned()));
}
