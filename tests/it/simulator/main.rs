//! The simulated clouds, checked against their vendors' descriptions.

mod access;
mod client;
mod faults;
mod lists;
mod validation;
