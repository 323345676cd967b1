//! The credential behind an egress, with simulated services of Alibaba Cloud on loopback.

mod attacks;
mod bad;
mod echoes;
mod fuzz;
mod renewals;
mod sources;
mod world;
