//! The settings of the provider.

mod balancers;
mod classes;
mod machines;

pub(crate) use self::balancers::{
    ContainerStore, DELAY, FloatingSubnetChoice, METHODS, MonitorTimes, NetworkChoice, OctaviaSettings, PATTERN,
    RETRIES, TABLE as BALANCERS, TAGS, TLS_REFERENCE,
};
pub(crate) use self::classes::{LoadBalancerClassSettings, TABLE as CLASSES};
pub(crate) use self::machines::{ROUTER, ServerSettings, TABLE as MACHINES, check as check_machines};
pub(crate) use openstack_api::{ID, name, region};

/// The name of the setting with the cluster's former name.
pub(crate) const FORMER_CLUSTER: &str = balancers::FORMER_CLUSTER.name;
