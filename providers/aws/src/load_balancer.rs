//! A load balancer for a Service.

pub(crate) mod security_groups;

pub(crate) use self::security_groups::nodes::GROUPS;
