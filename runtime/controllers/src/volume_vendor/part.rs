//! The parts of a vendor's controller of volumes.

/// A controller of the vendor, which is a container beside its driver, and whose work one of the controllers here does.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum VendorPart {
    /// The external provisioner.
    Provisioner,
    /// The external attacher.
    Attacher,
    /// The external resizer.
    Resizer,
}

impl VendorPart {
    /// Its container, as vendors' manifests call it.
    pub(super) fn container(self) -> &'static str {
        match self {
            Self::Provisioner => "csi-provisioner",
            Self::Attacher => "csi-attacher",
            Self::Resizer => "csi-resizer",
        }
    }

    /// The controller here that does its work.
    pub(crate) fn controller(self) -> &'static str {
        match self {
            Self::Provisioner => "volume-provisioner",
            Self::Attacher => "volume-attacher",
            Self::Resizer => "volume-expander",
        }
    }

    /// The name of its Lease, if it elects a leader.
    pub(super) fn lease(self, driver: &str) -> String {
        let plain = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '-' };
        let driver: String = driver.chars().map(plain).collect();
        match self {
            Self::Provisioner => driver,
            Self::Attacher => format!("external-attacher-leader-{driver}"),
            Self::Resizer => format!("external-resizer-{driver}"),
        }
    }
}
