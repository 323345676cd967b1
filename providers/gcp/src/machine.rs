//! Provider ids of instances: `gce://<project>/<zone>/<name>`.

pub(crate) use gcp_api::{is_name, last_of};

use aerostat_sdk::{Error, Result};

/// The beginning of provider ids. Nodes keep theirs for as long as they exist: it must not change.
pub(crate) const PREFIX: &str = "gce://";

/// An instance by what its provider id says.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct MachinePlace {
    /// The name of its zone: "europe-west1-b".
    pub(crate) zone: String,
    /// Its name, unique within the zone.
    pub(crate) name: String,
}

impl MachinePlace {
    /// The zone and the name in a provider id. Names are checked: they become parts of a path.
    ///
    /// # Errors
    ///
    /// `invalid`, if it is of another cloud or project, or no instance has such a name.
    pub(crate) fn parse(provider_id: &str, project: &str) -> Result<Self> {
        let parts: Option<Vec<&str>> = provider_id.strip_prefix(PREFIX).map(|it| it.split('/').collect());
        match parts.as_deref() {
            Some([named, zone, name]) if is_name(zone) && is_name(name) => match *named == project {
                true => Ok(Self { zone: (*zone).to_owned(), name: (*name).to_owned() }),
                false => Err(Error::invalid(format_args!(
                    "provider id {provider_id:?} names project {named:?}, and the cluster's is {project}: the instance is not looked for"
                ))),
            },
            _ => Err(Error::invalid(format_args!(
                "provider id {provider_id:?} is not {PREFIX}, a project, a zone and the name of an instance such as \
                 {PREFIX}{project}/europe-west1-b/node-1"
            ))),
        }
    }

    /// The zone and the name in the reference of an instance; `None` if it is none.
    pub(crate) fn of_url(url: &str) -> Option<Self> {
        let mut parts = url.rsplit('/');
        let (name, instances, zone) = (parts.next()?, parts.next()?, parts.next()?);
        let is_one = instances == "instances" && is_name(zone) && is_name(name);
        is_one.then(|| Self { zone: zone.to_owned(), name: name.to_owned() })
    }

    /// The reference of this instance from `projects/` on.
    pub(crate) fn reference(&self, project: &str) -> String {
        format!("projects/{project}/zones/{}/instances/{}", self.zone, self.name)
    }

    /// The provider id of this instance.
    pub(crate) fn provider_id(&self, project: &str) -> String {
        format!("{PREFIX}{project}/{}/{}", self.zone, self.name)
    }
}

/// The name of the instance whose kubelet registers as this node: kubelets may register with the whole host name.
pub(crate) fn instance_name(node: &str) -> &str {
    node.split('.').next().unwrap_or(node)
}

/// The region of a zone: its name without the last part.
pub(crate) fn region_of(zone: &str) -> &str {
    zone.rsplit_once('-').map_or(zone, |(region, _)| region)
}

/// Whether it can stand in names as the id of a cluster: lower-case letters and digits, at most 16.
pub(crate) fn is_id(text: &str) -> bool {
    let is_allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    (1..=16).contains(&text.len()) && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_ids_name_project_zone_and_instance() {
        let place = MachinePlace::parse("gce://p/us-a1-b/n", "p").unwrap();
        assert_eq!((&*place.zone, &*place.name, &*place.provider_id("p")), ("us-a1-b", "n", "gce://p/us-a1-b/n"));
    }

    #[test]
    fn provider_ids_of_others_are_refused() {
        for id in [
            "",
            "aws:///z/i-1",
            "gce://",
            "gce://p/z",
            "gce://p/z/n/x",
            "gce://p/../n",
            "gce://p/z/N",
            "gce://p//n",
            "gce://p/z/n?x",
        ] {
            let refused = MachinePlace::parse(id, "p").unwrap_err();
            assert!(matches!(&refused, Error::Invalid(why) if why.contains(&format!("{id:?}"))), "{id} {refused:?}");
        }
        let refused = MachinePlace::parse("gce://q/z/n", "p").unwrap_err();
        assert!(refused.why().contains("names project \"q\""), "{refused:?}");
    }

    #[test]
    fn regions_are_zones_without_their_last_part() {
        assert_eq!((region_of("europe-west1-b"), instance_name("n.c.p.internal")), ("europe-west1", "n"));
    }
}
