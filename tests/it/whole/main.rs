//! The binary with the DigitalOcean provider, a real control plane and the simulated cloud: crashes, faults, theft.
