//! Types of load balancers: what each may have at most.

use serde_json::{Value, json};

/// A type.
#[derive(Debug)]
pub struct Kind {
    /// The number that requests may name in the place of the name.
    pub id: u64,
    /// For example `lb11`.
    pub name: &'static str,
    /// How many connections may be open at once.
    pub max_connections: usize,
    /// How many services it may have.
    pub max_services: usize,
    /// How many servers and addresses it may forward to.
    pub max_targets: usize,
    /// How many certificates it may use.
    pub max_assigned_certificates: usize,
    /// When it cannot be had any more.
    deprecated: Option<&'static str>,
}

/// All of them, with one that was given up.
pub(crate) static KINDS: [Kind; 4] = [
    Kind::new(1, "lb11", 10_000, 5, 25, 10, None),
    Kind::new(2, "lb21", 20_000, 15, 75, 25, None),
    Kind::new(3, "lb31", 40_000, 30, 150, 50, None),
    Kind::new(4, "lb1", 5_000, 5, 25, 10, Some("2021-01-30T23:50:00+00:00")),
];

impl Kind {
    const fn new(
        id: u64,
        name: &'static str,
        max_connections: usize,
        max_services: usize,
        max_targets: usize,
        max_assigned_certificates: usize,
        deprecated: Option<&'static str>,
    ) -> Kind {
        Kind { id, name, max_connections, max_services, max_targets, max_assigned_certificates, deprecated }
    }

    /// The type with this name or id.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|it| it.name == name || it.id.to_string() == name)
    }

    /// All types.
    #[must_use]
    pub fn all() -> &'static [Kind] {
        &KINDS
    }

    /// Whether it can still be had.
    pub(crate) fn is_offered(&self) -> bool {
        self.deprecated.is_none()
    }

    /// The object as the service shows it.
    pub(crate) fn object(&self) -> Value {
        let price = |net: &str| json!({ "net": net, "gross": net });
        json!({
            "id": self.id,
            "name": self.name,
            "description": self.name.to_uppercase(),
            "max_connections": self.max_connections,
            "max_services": self.max_services,
            "max_targets": self.max_targets,
            "max_assigned_certificates": self.max_assigned_certificates,
            "deprecated": self.deprecated,
            "prices": [{
                "location": "fsn1",
                "price_hourly": price("0.0090000000"),
                "price_monthly": price("5.3900000000"),
                "included_traffic": 21_990_232_555_520_u64,
                "price_per_tb_traffic": price("1.0000000000"),
            }],
        })
    }
}
