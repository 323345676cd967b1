//! The regions of the service, and the networks that are there without anybody's doing.

use serde_json::{Value, json};

/// Slugs, each with the UUID of the account's default VPC there.
pub(super) const REGIONS: [(&str, &str); 6] = [
    ("fra1", "760e09ef-dc84-11e8-981e-3cfdfeaae000"),
    ("ams3", "760e0d6c-dc84-11e8-981e-3cfdfeaae000"),
    ("nyc1", "760e1212-dc84-11e8-981e-3cfdfeaae000"),
    ("nyc3", "760e15a0-dc84-11e8-981e-3cfdfeaae000"),
    ("sfo3", "760e1a42-dc84-11e8-981e-3cfdfeaae000"),
    ("sgp1", "760e1e7b-dc84-11e8-981e-3cfdfeaae000"),
];

/// The default VPC of a region. A region that the simulator does not know counts as the first.
pub(super) fn default_vpc(slug: &str) -> &'static str {
    REGIONS.iter().find(|(region, _)| *region == slug).unwrap_or(&REGIONS[0]).1
}

/// The object as it is part of others.
pub(super) fn object(slug: &str) -> Value {
    json!({
        "name": slug.to_uppercase(),
        "slug": slug,
        "features": ["backups", "ipv6", "metadata", "install_agent", "storage", "image_transfer"],
        "available": true,
        "sizes": ["s-1vcpu-1gb", "s-2vcpu-4gb", "s-4vcpu-8gb", "s-8vcpu-16gb"],
    })
}
