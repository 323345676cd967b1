//! A simulated DigitalOcean.
