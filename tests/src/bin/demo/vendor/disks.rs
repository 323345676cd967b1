//! The table of clouds whose disks are shown: for each the driver, its class, and the module that makes the disks.

use tests::guests;
use tests::vendor::{DigitalOcean, DiskVendor as _, Hetzner};

/// The volumes of a cloud whose disks are made for claims.
#[derive(Clone, Copy)]
pub(crate) struct ShownVolumes {
    /// The vendor's CSI driver.
    pub(crate) driver: &'static str,
    /// The name of the vendor's class.
    pub(crate) class: &'static str,
    /// The parameters of that class.
    pub(crate) parameters: &'static [(&'static str, &'static str)],
    /// Whether volumes of that class wait until their pod has a node.
    pub(crate) waits_for_pod: bool,
    /// The label that the vendor's node plugin gives nodes, and its value here.
    pub(crate) place: (&'static str, &'static str),
    /// A further topology key of that plugin, whose label aerostat writes.
    pub(crate) further_key: Option<&'static str>,
    /// The module that makes them.
    pub(crate) maker: DiskMaker,
}

/// The module that makes the disks.
#[derive(Clone, Copy)]
pub(crate) enum DiskMaker {
    /// The provider of the cloud, whose page has the rules for volumes.
    Provider { page: &'static str },
    /// A provider of its own, in a second aerostat.
    Beside(DiskRelease),
}

/// A release that makes disks beside the one of the cloud.
#[derive(Clone, Copy)]
pub(crate) struct DiskRelease {
    /// The name of its provider, and of its file in `deploy/`.
    pub(crate) provider: &'static str,
    /// The path of its module.
    pub(crate) module: &'static str,
    /// The text of the file that installs it.
    pub(crate) manifests: &'static str,
}

impl ShownVolumes {
    /// The page with the rules for volumes, where the provider of the cloud makes them.
    pub(crate) fn page(&self) -> Option<&'static str> {
        match self.maker {
            DiskMaker::Provider { page } => Some(page),
            DiskMaker::Beside(_) => None,
        }
    }

    /// The release that makes them, where it is another one.
    pub(crate) fn release(&self) -> Option<DiskRelease> {
        match self.maker {
            DiskMaker::Provider { .. } => None,
            DiskMaker::Beside(release) => Some(release),
        }
    }
}

/// Blocks of DigitalOcean.
pub(super) const DIGITALOCEAN: ShownVolumes = ShownVolumes {
    driver: DigitalOcean::DRIVER,
    class: "do-block-storage",
    parameters: &[],
    waits_for_pod: false,
    place: DigitalOcean::PLACE,
    further_key: None,
    maker: DiskMaker::Provider { page: DigitalOcean::VOLUMES_PAGE },
};

/// Volumes of Hetzner.
pub(super) const HETZNER: ShownVolumes = ShownVolumes {
    driver: Hetzner::DRIVER,
    class: "hcloud-volumes",
    parameters: &[],
    waits_for_pod: true,
    place: Hetzner::PLACE,
    further_key: None,
    maker: DiskMaker::Provider { page: Hetzner::VOLUMES_PAGE },
};

/// EBS.
pub(super) const AWS: ShownVolumes = ShownVolumes {
    driver: "ebs.csi.aws.com",
    class: "gp3",
    parameters: &[("type", "gp3")],
    waits_for_pod: true,
    place: ("topology.ebs.csi.aws.com/zone", "us-east-1a"),
    further_key: Some("topology.kubernetes.io/zone"),
    maker: DiskMaker::Beside(DiskRelease {
        provider: "aws-ebs",
        module: guests::AWS_EBS,
        manifests: include_str!("../../../../../deploy/install-aws-ebs.yaml"),
    }),
};

/// Persistent Disks of Google Cloud.
pub(super) const GCP: ShownVolumes = ShownVolumes {
    driver: "pd.csi.storage.gke.io",
    class: "standard-rwo",
    parameters: &[("type", "pd-balanced")],
    waits_for_pod: true,
    place: ("topology.gke.io/zone", "europe-west1-b"),
    further_key: None,
    maker: DiskMaker::Beside(DiskRelease {
        provider: "gcp-pd",
        module: guests::GCP_PD,
        manifests: include_str!("../../../../../deploy/install-gcp-pd.yaml"),
    }),
};

/// Cinder.
pub(super) const OPENSTACK: ShownVolumes = ShownVolumes {
    driver: "cinder.csi.openstack.org",
    class: "csi-cinder-sc-delete",
    parameters: &[("type", "ssd")],
    waits_for_pod: false,
    place: ("topology.cinder.csi.openstack.org/zone", "nova"),
    further_key: None,
    maker: DiskMaker::Beside(DiskRelease {
        provider: "openstack-cinder",
        module: guests::OPENSTACK_CINDER,
        manifests: include_str!("../../../../../deploy/install-openstack-cinder.yaml"),
    }),
};
