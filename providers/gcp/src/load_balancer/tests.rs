//! Load balancers in memory.
