//! Elastic Load Balancing in the version of 2012, which knows Classic Load Balancers alone.

pub(crate) mod load_balancers;
pub(crate) mod model;
pub(crate) mod writes;
