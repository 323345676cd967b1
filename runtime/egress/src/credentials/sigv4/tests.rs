//! The credential behind an egress, with simulated services of AWS on loopback.

mod bad;
mod echoes;
mod fuzz;
mod renewals;
mod sources;
mod world;
