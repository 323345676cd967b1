//! The APIs: their requests and their answers.

pub(crate) mod ec2;
pub(crate) mod elb;
pub(crate) mod elbv2;
mod service;

pub(crate) use self::service::{ELB, ELBV2};
pub(crate) use aws_api::{AwsRefusal, EC2, Element, RequestForm};
