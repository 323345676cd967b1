//! A cloud as tests know it that hold for any: the same bodies run over each of them.

pub mod alibaba;
pub mod aws;
pub mod azure;
mod described;
mod description;
pub mod digitalocean;
mod disks;
pub mod gcp;
pub mod hetzner;
pub mod ibm;
pub mod loading;
pub mod manifest;
pub mod openstack;
mod provider;
mod service;

pub use self::alibaba::AlibabaCloud;
pub use self::aws::Aws;
pub use self::azure::AzureCloud;
pub use self::description::{Behaviour, Built, Creation, Left, LeftBehind, Readdresses, Vendor};
pub use self::digitalocean::DigitalOcean;
pub use self::disks::{BuiltDisk, DiskChange, DiskVendor};
pub use self::gcp::GoogleCloud;
pub use self::hetzner::Hetzner;
pub use self::ibm::IbmCloud;
pub use self::openstack::OpenStack;
pub use self::provider::{Differences, ProviderRig, joining, node};
pub use self::service::{NAME, Service, UID, port, warning};

/// Makes a test of each of these bodies for each cloud, in a module with the cloud's name. A body is generic over a [`Vendor`].
#[macro_export]
macro_rules! for_each_cloud {
    ($($body:ident,)+) => {
        mod digitalocean {
            $(
                #[tokio::test]
                async fn $body() {
                    super::$body::<$crate::vendor::DigitalOcean>().await;
                }
            )+
        }

        mod hetzner {
            $(
                #[tokio::test]
                async fn $body() {
                    super::$body::<$crate::vendor::Hetzner>().await;
                }
            )+
        }
    };
}
