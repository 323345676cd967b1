//! The service-lb-controller against a real API server, with a cloud that does as it is told: cases 12.6 to 12.8.

mod annotations;
mod batches;
mod changes;
mod chaos;
mod class;
mod cloud;
mod controller;
mod creation;
mod deletion;
mod failed;
mod failures;
mod hosts;
mod inventory;
mod judged;
mod leaving;
mod memo;
mod pending;
mod refused;
mod selectors;
mod updates;
mod vanished;
