//! The node controller against a real control plane.
