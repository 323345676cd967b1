//! The cloud-node-lifecycle-controller against a real API server: cases 12.5.
