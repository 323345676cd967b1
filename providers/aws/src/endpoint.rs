//! Requests of the provider: what they do, what they carry, and which actions of IAM they need.

mod ec2;
mod elb;
mod elbv2;
mod rules;

pub(crate) use self::ec2::ec2;
pub(crate) use self::elb::elb;
pub(crate) use self::elbv2::elbv2;
pub(crate) use self::rules::Own;
