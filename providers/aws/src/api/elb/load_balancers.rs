//! Classic Load Balancers: read, made and deleted.

use aerostat_sdk::{Change, Error, Result, SortedMap, SortedSet};

use super::model::{ClassicAttributes, ClassicListener, ClassicLoadBalancer};
use super::writes::{with_listeners, with_tags};
use crate::api::{AwsRefusal, ELB, Element, RequestForm};

/// The most load balancers of a page.
const PAGE: u32 = 400;
/// The most load balancers whose tags one request reads.
const TAG_BATCH: usize = 20;

/// The code of a load balancer that is not there.
const NOT_FOUND: &str = "LoadBalancerNotFound";

/// Keys and values.
type ClassicTags = SortedMap<String, String>;

/// A page of a list, and where the next one begins.
#[derive(Debug)]
pub(crate) struct LoadBalancerPage {
    pub(crate) load_balancers: Vec<ClassicLoadBalancer>,
    pub(crate) next: Option<String>,
}

/// The fields of a load balancer that is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassicCreation<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_internal: bool,
    /// At least one.
    pub(crate) listeners: &'a [ClassicListener],
    pub(crate) subnets: &'a SortedSet<String>,
    pub(crate) groups: &'a [String],
    pub(crate) tags: &'a ClassicTags,
}

/// The load balancer with this name, whoever's it is.
pub(crate) fn find(name: &str) -> Result<Option<ClassicLoadBalancer>, AwsRefusal> {
    let form = ELB.action("DescribeLoadBalancers").list("LoadBalancerNames.member", [name]);
    match page_of(form) {
        Ok(page) => Ok(page.load_balancers.into_iter().find(|it| it.name == name)),
        Err(refusal) if refusal.code == NOT_FOUND => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// The load balancer with this name and its tags, by the reads of a list of all of them, up to its page: they cost
/// nothing where all have just been listed. `None`, if the list does not show it.
pub(crate) fn find_listed(name: &str) -> Result<Option<(ClassicLoadBalancer, ClassicTags)>, AwsRefusal> {
    let mut marker = None;
    loop {
        let page = page(marker.as_deref())?;
        if let Some(at) = page.load_balancers.iter().position(|it| it.name == name) {
            // The same request as in the list: the names that it is asked about with.
            let names: Vec<&str> = page.load_balancers.iter().map(|it| &*it.name).collect();
            let batch = names.chunks(TAG_BATCH).nth(at / TAG_BATCH).unwrap_or_default();
            let tags = tags(batch)?.remove(name).unwrap_or_default();
            return Ok(page.load_balancers.into_iter().nth(at).map(|it| (it, tags)));
        }
        match page.next {
            None => return Ok(None),
            Some(next) if marker.as_ref() == Some(&next) => return Err(ELB.endless("DescribeLoadBalancers")),
            next => marker = next,
        }
    }
}

/// A page of all load balancers of the account in the region.
pub(crate) fn page(marker: Option<&str>) -> Result<LoadBalancerPage, AwsRefusal> {
    page_of(ELB.action("DescribeLoadBalancers").with("PageSize", PAGE).with_some("Marker", marker))
}

/// All load balancers of the account in the region.
pub(crate) fn all() -> Result<Vec<ClassicLoadBalancer>, AwsRefusal> {
    let (mut found, mut marker) = (Vec::new(), None);
    loop {
        let page = page(marker.as_deref())?;
        found.extend(page.load_balancers);
        match page.next {
            None => return Ok(found),
            Some(next) if marker.as_ref() == Some(&next) => return Err(ELB.endless("DescribeLoadBalancers")),
            next => marker = next,
        }
    }
}

fn page_of(form: RequestForm) -> Result<LoadBalancerPage, AwsRefusal> {
    let path = ["DescribeLoadBalancersResult", "LoadBalancerDescriptions", "member"];
    let mut load_balancers = Vec::new();
    let rest = ELB.each(form, &path, |it| load_balancers.push(ClassicLoadBalancer::read(&it)))?;
    let next = rest.text(&["DescribeLoadBalancersResult", "NextMarker"]).map(str::to_owned);
    Ok(LoadBalancerPage { load_balancers, next })
}

/// The tags of each of these load balancers, by its name.
///
/// One that is gone fails the request.
pub(crate) fn tags(names: &[&str]) -> Result<SortedMap<String, ClassicTags>, AwsRefusal> {
    let path = ["DescribeTagsResult", "TagDescriptions", "member"];
    let mut found = SortedMap::new();
    for names in names.chunks(TAG_BATCH) {
        let form = ELB.action("DescribeTags").list("LoadBalancerNames.member", names);
        ELB.each(form, &path, |item| {
            let tag = |tag: &Element| {
                Some((tag.text(&["Key"])?.to_owned(), tag.text(&["Value"]).unwrap_or_default().to_owned()))
            };
            let name = item.text(&["LoadBalancerName"]).unwrap_or_default().to_owned();
            found.insert(name, item.items("Tags").filter_map(tag).collect());
        })?;
    }
    Ok(found)
}

/// The attributes of a load balancer.
pub(crate) fn attributes(name: &str) -> Result<ClassicAttributes> {
    let answer = ELB.call(ELB.action("DescribeLoadBalancerAttributes").with("LoadBalancerName", name))?;
    let result = answer.child("DescribeLoadBalancerAttributesResult");
    let attributes = result.and_then(|it| it.child("LoadBalancerAttributes")).map(ClassicAttributes::read);
    attributes.ok_or_else(|| Error::unavailable(format_args!("DescribeLoadBalancerAttributes {name}: it shows none")))
}

/// Makes a load balancer. Busy, if there is one of this name already, which a list does not show yet.
pub(crate) fn create(it: ClassicCreation<'_>) -> Result<Change<()>, AwsRefusal> {
    let form = ELB.action("CreateLoadBalancer").with("LoadBalancerName", it.name);
    let form = with_listeners(form, it.listeners)
        .list("Subnets.member", it.subnets)
        .list("SecurityGroups.member", it.groups)
        .with_some("Scheme", it.is_internal.then_some("internal"));
    match ELB.call(with_tags(form, it.tags)) {
        Ok(_) => Ok(Change::Done(())),
        Err(refusal) if refusal.code == "DuplicateLoadBalancerName" => {
            Ok(Change::Busy(format!("load balancer {} was made a moment ago, and AWS does not list it yet", it.name)))
        }
        Err(refusal) => Err(refusal),
    }
}

/// Deletes a load balancer, if there is one. Its network interfaces stay for a while.
pub(crate) fn delete(name: &str) -> Result<(), AwsRefusal> {
    ELB.call(ELB.action("DeleteLoadBalancer").with("LoadBalancerName", name)).map(drop)
}
