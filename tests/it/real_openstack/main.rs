//! aerostat against a whole real OpenStack: `make test-openstack`.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod nodes;
mod services;
mod setup;
