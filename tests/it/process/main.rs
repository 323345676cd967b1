//! The process: flags, files, leadership, health, metrics, end.
