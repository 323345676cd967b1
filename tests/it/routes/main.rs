//! The node-route-controller against a real API server, with a cloud that has routes and does as it is told.

mod cloud;
mod controller;
mod crash;
mod creation;
mod deletion;
mod failures;
mod limits;
mod schedule;
