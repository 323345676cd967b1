//! Elastic Load Balancing in its version of 2015: Network Load Balancers, their listeners and target groups.

pub(crate) mod listeners;
pub(crate) mod load_balancers;
pub(crate) mod tags;
pub(crate) mod target_groups;

use aerostat_sdk::SortedMap;

use super::{AwsRefusal, ELBV2, Element, RequestForm};

/// The most items of a page.
const PAGE: u32 = 400;

/// Attributes by their keys: `load_balancing.cross_zone.enabled`.
pub(crate) type Attributes = SortedMap<String, String>;

/// Tags by their keys.
pub(crate) type TagsByKey = SortedMap<String, String>;

/// A page of a list, and where the next one begins.
#[derive(Debug)]
pub(crate) struct ListPage<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

/// One page of the list of this name in an answer.
fn page<T>(
    form: RequestForm,
    list: &str,
    marker: Option<&str>,
    read: fn(&Element) -> T,
) -> Result<ListPage<T>, AwsRefusal> {
    let result = format!("{}Result", form.action());
    let mut items = Vec::new();
    let rest = ELBV2.each(form.with_some("Marker", marker), &[&result, list, "member"], |it| items.push(read(&it)))?;
    Ok(ListPage { items, next: rest.text(&[&result, "NextMarker"]).map(str::to_owned) })
}

/// All pages of a list. A list that does not end is refused.
fn all<T>(form: &RequestForm, list: &str, read: fn(&Element) -> T) -> Result<Vec<T>, AwsRefusal> {
    let (mut found, mut marker) = (Vec::new(), None);
    loop {
        let page = page(form.clone(), list, marker.as_deref(), read)?;
        found.extend(page.items);
        match page.next {
            None => return Ok(found),
            Some(next) if marker.as_ref() == Some(&next) => return Err(ELBV2.endless(form.action())),
            next => marker = next,
        }
    }
}

/// The first item of the list of this name in the answer to a creation.
fn made<T>(form: RequestForm, list: &str, read: fn(&Element) -> T) -> Result<T, AwsRefusal> {
    let action = form.action().to_owned();
    let made = page(form, list, None, read)?.items.into_iter().next();
    made.ok_or_else(|| ELBV2.empty(&action))
}

/// Adds keys and values: tags or attributes.
fn with_pairs<'a>(
    form: RequestForm,
    list: &str,
    pairs: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> RequestForm {
    pairs.into_iter().zip(1..).fold(form, |form, ((key, value), number): (_, usize)| {
        let item = format!("{list}.member.{number}");
        form.with(format!("{item}.Key"), key).with(format!("{item}.Value"), value)
    })
}

/// The attributes or tags in the list of this name.
fn pairs(it: &Element, list: &str) -> SortedMap<String, String> {
    let pair = |it: &Element| Some((it.text(&["Key"])?.to_owned(), it.text(&["Value"]).unwrap_or_default().to_owned()));
    it.items(list).filter_map(pair).collect()
}

/// The attributes that an answer of this action has.
fn attributes(form: RequestForm) -> Result<Attributes, AwsRefusal> {
    let result = format!("{}Result", form.action());
    let answer = ELBV2.call(form)?;
    Ok(answer.child(&result).map(|it| pairs(it, "Attributes")).unwrap_or_default())
}

fn text(it: &Element, name: &str) -> String {
    it.text(&[name]).unwrap_or_default().to_owned()
}

fn number<N: std::str::FromStr>(it: &Element, name: &str) -> Option<N> {
    it.text(&[name]).and_then(|it| it.parse().ok())
}
