//! Requests of EC2 that each module makes.

use crate::errors::AwsRefusal;
use crate::form::RequestForm;
use crate::service::EC2;
use crate::tags::Tags;
use crate::xml::Element;

/// The most values of one filter ("FilterLimitExceeded").
pub const FILTER_VALUES: usize = 200;

/// Sends a request for each page of a list, and hands over each element at this path.
///
/// # Errors
///
/// The error that AWS answered. A list that does not end is refused.
#[inline]
pub fn pages(form: &RequestForm, path: &[&str], each: &mut dyn FnMut(Element)) -> Result<(), AwsRefusal> {
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

/// Adds keys and values to the list of this name.
#[must_use]
#[inline]
pub fn with_tags(form: RequestForm, list: &str, tags: &Tags) -> RequestForm {
    tags.iter().zip(1..).fold(form, |form, ((key, value), number): (_, usize)| {
        form.with(format!("{list}.{number}.Key"), key).with(format!("{list}.{number}.Value"), value)
    })
}

/// The account that a VPC belongs to (`DescribeVpcs`); `None`, if the credential's account sees no such VPC.
#[inline]
pub(crate) fn account(vpc: &str) -> Result<Option<String>, AwsRefusal> {
    let mut owner = None;
    let form = EC2.action("DescribeVpcs").filter("vpc-id", [vpc]);
    EC2.each(form, &["vpcSet", "item"], |it| owner = it.text(&["ownerId"]).map(str::to_owned))?;
    Ok(owner)
}
