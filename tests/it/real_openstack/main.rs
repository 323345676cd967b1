//! aerostat against a whole real OpenStack: `make test-openstack`.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod conversation;
mod figures;
mod hang;
mod keystone;
mod kinds;
mod nodes;
mod routes;
mod services;
mod setup;
mod volumes;
