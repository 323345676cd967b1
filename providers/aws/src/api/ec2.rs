//! EC2.

pub(crate) mod instances;
pub(crate) mod interfaces;
pub(crate) mod route_tables;
pub(crate) mod security_groups;
pub(crate) mod subnets;
pub(crate) mod topology;
pub(crate) mod volumes;
pub(crate) mod vpcs;
pub(crate) mod zones;

use crate::api::{AwsRefusal, EC2, Element, RequestForm};

/// The most values of one filter ("FilterLimitExceeded").
pub(crate) const FILTER_VALUES: usize = 200;

/// Sends a request for each page of a list, and hands over each element at this path. A list that does not end is refused.
fn pages(form: &RequestForm, path: &[&str], each: &mut dyn FnMut(Element)) -> Result<(), AwsRefusal> {
    let mut token: Option<String> = None;
    loop {
        let rest = EC2.each(form.clone().with_some("NextToken", token.as_deref()), path, &mut *each)?;
        match rest.text(&["nextToken"]) {
            None => return Ok(()),
            Some(next) if token.as_deref() == Some(next) => return Err(EC2.endless(form.action())),
            Some(next) => token = Some(next.to_owned()),
        }
    }
}
