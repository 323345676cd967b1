//! The APIs: their requests, their answers, and their errors.

mod codes;
pub(crate) mod ec2;
pub(crate) mod elb;
pub(crate) mod elbv2;
mod errors;
mod form;
mod service;
mod xml;

pub(crate) use self::errors::AwsRefusal;
pub(crate) use self::form::RequestForm;
pub(crate) use self::service::{AwsApi, EC2, ELB, ELBV2};
pub(crate) use self::xml::Element;
