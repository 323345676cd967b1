//! The machines of these tests.

use cloud_provider::{Address, AddressKind, Instance};

pub(crate) use tests::rig::instances::{Answer, Cloud, List};

/// The machine behind node `n<nth>`.
pub(crate) fn machine(nth: usize) -> Instance {
    Instance {
        name: format!("n{nth}"),
        provider_id: Some(format!("fake://{nth}")),
        machine_type: Some("t1.micro".to_owned()),
        zone: Some("z1".to_owned()),
        region: Some("r1".to_owned()),
        addresses: vec![
            internal(&format!("10.1.{}.{}", nth / 256, nth % 256)),
            Address { kind: AddressKind::Hostname, value: format!("n{nth}") },
        ],
        ..Instance::default()
    }
}

/// An internal address.
pub(crate) fn internal(address: &str) -> Address {
    Address { kind: AddressKind::InternalIp, value: address.to_owned() }
}

/// An external address.
pub(crate) fn external(address: &str) -> Address {
    Address { kind: AddressKind::ExternalIp, value: address.to_owned() }
}
