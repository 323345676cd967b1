//! The APIs: their requests, their answers, and their errors.

mod codes;
pub(crate) mod ec2;
pub(crate) mod elb;
pub(crate) mod elbv2;
mod errors;
mod form;
mod service;
mod xml;

pub(crate) use self::errors::Refusal;
pub(crate) use self::form::Form;
pub(crate) use self::service::{Api, EC2, ELB, ELBV2};
pub(crate) use self::xml::Element;
