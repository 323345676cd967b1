//! The calls of CSI's controller service that are done here.

/// A call of CSI's controller service.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum CsiMethod {
    /// A volume is made.
    Create,
    /// It is deleted, whether a PersistentVolume had it or not.
    Delete,
    /// It is attached to a machine.
    Attach,
    /// It is detached.
    Detach,
    /// It grows.
    Expand,
}

impl CsiMethod {
    /// Upstream's name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "/csi.v1.Controller/CreateVolume",
            Self::Delete => "/csi.v1.Controller/DeleteVolume",
            Self::Attach => "/csi.v1.Controller/ControllerPublishVolume",
            Self::Detach => "/csi.v1.Controller/ControllerUnpublishVolume",
            Self::Expand => "/csi.v1.Controller/ControllerExpandVolume",
        }
    }
}
