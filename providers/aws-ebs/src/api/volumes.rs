//! Volumes (`DescribeVolumes` and others).

use aerostat_sdk::volume_backend::Making;
use aerostat_sdk::{Error, Result, time};
use aws_api::{AwsRefusal, ClusterSettings, EC2, Element, RequestForm, Tags, pages, with_tags};

/// The most volumes of a page.
pub(crate) const PAGE: u32 = 500;
/// The fewest.
const SMALLEST_PAGE: u32 = 5;
/// Where an answer has its volumes.
const PATH: [&str; 2] = ["volumeSet", "item"];
/// The tag of the vendor's controller with the name of a volume.
pub(crate) const NAME: &str = "CSIVolumeName";
/// The tag of the vendor's controller on all of its volumes.
pub(crate) const DRIVER: &str = "ebs.csi.aws.com/cluster";

/// A volume.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct EbsVolume {
    pub(crate) id: String,
    pub(crate) zone: String,
    pub(crate) gibibytes: u64,
    /// `creating`, `available`, `in-use`, `deleting` or `error`.
    pub(crate) state: String,
    pub(crate) attachments: Vec<EbsAttachment>,
    pub(crate) tags: Tags,
}

/// A volume at an instance.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct EbsAttachment {
    pub(crate) instance: String,
    pub(crate) device: String,
    /// `attaching`, `attached`, `detaching` or `busy`.
    pub(crate) state: String,
    /// When it began, as EC2 writes it.
    pub(crate) since: String,
}

impl EbsAttachment {
    /// For how many seconds it has stood.
    pub(crate) fn age(&self, now: u64) -> u64 {
        time::seconds(&self.since).map_or(0, |it| now.saturating_sub(it))
    }
}

/// The last change of a volume's size, kind or speed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct EbsModification {
    /// `modifying`, `optimizing`, `completed` or `failed`.
    pub(crate) state: String,
    /// When it began, as EC2 writes it.
    pub(crate) since: String,
    /// Why it has failed.
    pub(crate) why: String,
}

/// A page of a list, and where the next one begins.
#[derive(Debug)]
pub(crate) struct EbsPage {
    pub(crate) volumes: Vec<EbsVolume>,
    pub(crate) next: Option<String>,
}

/// The volumes with these ids, at most 200. A volume that is unknown is missing.
pub(crate) fn by_ids(ids: &[&str]) -> Result<Vec<EbsVolume>, AwsRefusal> {
    all(&EC2.action("DescribeVolumes").filter("volume-id", ids))
}

/// Those whose tag says this name.
pub(crate) fn named(name: &str) -> Result<Vec<EbsVolume>, AwsRefusal> {
    all(&EC2.action("DescribeVolumes").filter(&format!("tag:{NAME}"), [name]))
}

/// Whether EC2 knows a volume of this id: asked in another way than [`by_ids`].
pub(crate) fn exists(id: &str) -> Result<bool, AwsRefusal> {
    match all(&EC2.action("DescribeVolumes").list("VolumeId", [id])) {
        Err(refusal) if refusal.code == "InvalidVolume.NotFound" => Ok(false),
        found => Ok(!found?.is_empty()),
    }
}

/// A page of the volumes of the vendor's driver, and of the cluster's.
pub(crate) fn page(cluster: &ClusterSettings, token: Option<&str>, size: u32) -> Result<EbsPage, AwsRefusal> {
    let form = EC2.action("DescribeVolumes").filter("tag-key", [DRIVER, &cluster.tag()]);
    let form = form.with("MaxResults", size.clamp(SMALLEST_PAGE, PAGE)).with_some("NextToken", token);
    let mut volumes = Vec::new();
    let rest = EC2.each(form, &PATH, |it| volumes.extend(read(&it)))?;
    Ok(EbsPage { volumes, next: rest.text(&["nextToken"]).map(str::to_owned) })
}

/// The last change of a volume; `None`, if EC2 remembers none.
pub(crate) fn modification(id: &str) -> Result<Option<EbsModification>, AwsRefusal> {
    let mut found: Vec<EbsModification> = Vec::new();
    let form = EC2.action("DescribeVolumesModifications").filter("volume-id", [id]);
    pages(&form, &["volumeModificationSet", "item"], &mut |item| {
        let text = |name: &str| item.text(&[name]).unwrap_or_default().to_owned();
        found.push(EbsModification {
            state: text("modificationState"),
            since: text("startTime"),
            why: text("statusMessage"),
        });
    })?;
    // Times of one form are in the order of their letters.
    Ok(found.into_iter().max_by(|one, other| one.since.cmp(&other.since)))
}

/// A volume that is to be made.
pub(crate) struct EbsSpec<'a> {
    /// Two requests with one token make one volume.
    pub(crate) token: &'a str,
    pub(crate) zone: &'a str,
    pub(crate) gibibytes: u64,
    pub(crate) kind: &'a str,
    pub(crate) iops: Option<u64>,
    pub(crate) throughput: Option<u32>,
    pub(crate) is_encrypted: bool,
    /// The key that it is encrypted with.
    pub(crate) key: Option<&'a str>,
    pub(crate) tags: &'a Tags,
}

/// Makes one.
pub(crate) fn create(spec: &EbsSpec<'_>) -> Result<Making<EbsVolume>> {
    let EbsSpec { token, zone, gibibytes, kind, iops, throughput, is_encrypted, key, tags } = spec;
    let form = EC2.action("CreateVolume").with("AvailabilityZone", zone).with("ClientToken", token);
    let form = form.with("Size", gibibytes).with("VolumeType", kind).with_some("Iops", *iops);
    let form = form.with_some("Throughput", *throughput).with_some("Encrypted", is_encrypted.then_some("true"));
    let form = form.with_some("KmsKeyId", *key).with("TagSpecification.1.ResourceType", "volume");
    match EC2.call(with_tags(form, "TagSpecification.1.Tag", tags)) {
        Ok(answer) => Ok(match read(&answer) {
            Some(volume) => Making::Made(volume),
            None => Making::Unclear(EC2.empty("CreateVolume").why().to_owned()),
        }),
        Err(AwsRefusal { code, error }) => match (&*code, &error) {
            ("InsufficientVolumeCapacity" | "VolumeTypeNotAvailableInZone", _) => {
                Ok(Making::NoRoom(error.why().to_owned()))
            }
            ("IdempotentParameterMismatch", _) => Ok(Making::Spent(error.why().to_owned())),
            // No answer, or a failure of EC2.
            (_, Error::Unavailable(why)) if !error.is_quota() => Ok(Making::Unclear(why.clone())),
            _ => Err(error),
        },
    }
}

/// Deletes one.
pub(crate) fn delete(id: &str) -> Result<(), AwsRefusal> {
    EC2.call(about("DeleteVolume", id)).map(drop)
}

/// Attaches one to an instance, under the name of this device.
pub(crate) fn attach(id: &str, instance: &str, device: &str) -> Result<(), AwsRefusal> {
    EC2.call(about("AttachVolume", id).with("InstanceId", instance).with("Device", device)).map(drop)
}

/// Detaches one from an instance.
pub(crate) fn detach(id: &str, instance: &str) -> Result<(), AwsRefusal> {
    EC2.call(about("DetachVolume", id).with("InstanceId", instance)).map(drop)
}

/// Lets one grow.
pub(crate) fn expand(id: &str, gibibytes: u64) -> Result<(), AwsRefusal> {
    EC2.call(about("ModifyVolume", id).with("Size", gibibytes)).map(drop)
}

fn about(action: &str, id: &str) -> RequestForm {
    EC2.action(action).with("VolumeId", id)
}

/// All pages of a list.
fn all(form: &RequestForm) -> Result<Vec<EbsVolume>, AwsRefusal> {
    let mut found = Vec::new();
    pages(form, &PATH, &mut |it| found.extend(read(&it)))?;
    Ok(found)
}

/// `None` for what is no volume, or none any more.
fn read(it: &Element) -> Option<EbsVolume> {
    let text = |name: &str| it.text(&[name]).unwrap_or_default().to_owned();
    let volume = EbsVolume {
        id: text("volumeId"),
        zone: text("availabilityZone"),
        gibibytes: text("size").parse().unwrap_or_default(),
        state: text("status"),
        attachments: it.items("attachmentSet").filter_map(attachment).collect(),
        tags: it.tags().into_iter().collect(),
    };
    (!volume.id.is_empty() && volume.state != "deleted").then_some(volume)
}

fn attachment(it: &Element) -> Option<EbsAttachment> {
    let text = |name: &str| it.text(&[name]).unwrap_or_default().to_owned();
    let (instance, device, state, since) = (text("instanceId"), text("device"), text("status"), text("attachTime"));
    (state != "detached").then_some(EbsAttachment { instance, device, state, since })
}
