//! The DigitalOcean provider against a simulated DigitalOcean.
