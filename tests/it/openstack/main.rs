//! OpenStack: the simulator against answers of the real services, and the provider against the simulator.

mod answers;
mod ground;
