//! Places of resources: the paths by which they are told apart, from `projects/` on.

use std::fmt;

use super::collection::Collection;

/// The beginning of every link that the API answers with.
pub(super) const BASE: &str = "https://www.googleapis.com/compute/v1/";

/// The part of a project in which names of resources are unique.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    /// The whole project.
    Global,
    /// A region, by name.
    Region(String),
    /// A zone, by name.
    Zone(String),
}

/// A collection in one scope of a project.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// The project's id.
    pub project: String,
    /// Where in it.
    pub scope: Scope,
}

impl Place {
    /// A place.
    #[must_use]
    pub fn new(project: &str, scope: Scope) -> Place {
        Place { project: project.to_owned(), scope }
    }

    /// The place of everything in this whole project.
    #[must_use]
    pub fn global(project: &str) -> Place {
        Place::new(project, Scope::Global)
    }

    /// The same in a region.
    #[must_use]
    pub fn region(project: &str, region: &str) -> Place {
        Place::new(project, Scope::Region(region.to_owned()))
    }

    /// The same in a zone.
    #[must_use]
    pub fn zone(project: &str, zone: &str) -> Place {
        Place::new(project, Scope::Zone(zone.to_owned()))
    }

    /// The path of a resource with this name: `projects/p1/global/firewalls/web`.
    #[must_use]
    pub fn path(&self, collection: Collection, name: &str) -> String {
        format!("{self}/{}/{name}", collection.many())
    }
}

/// `projects/p1/zones/europe-west1-b`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "projects/{}/{}", self.project, self.scope)
    }
}

/// The key of an aggregated list: `global`, `regions/europe-west1`.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Global => write!(f, "global"),
            Scope::Region(name) => write!(f, "regions/{name}"),
            Scope::Zone(name) => write!(f, "zones/{name}"),
        }
    }
}

/// A reference in a request as a path. It may be a link to the API, or a part of one from `projects/` or from the scope on.
/// Nothing, if it leads to another host, or nowhere.
pub(super) fn referred(reference: &str, project: &str) -> Option<String> {
    let path = match reference.split_once("://") {
        None => reference.trim_start_matches('/').to_owned(),
        Some((_, rest)) => {
            let (host, path) = rest.split_once('/')?;
            let name = host.split(':').next().unwrap_or_default();
            let is_the_api = name == "googleapis.com" || name.ends_with(".googleapis.com") || is_loopback(name);
            path.strip_prefix("compute/v1/").filter(|_| is_the_api)?.to_owned()
        }
    };
    let path = match path.split('/').next()? {
        "projects" => path,
        "global" | "regions" | "zones" => format!("projects/{project}/{path}"),
        _ => return None,
    };
    let parts = path.split('/').collect::<Vec<_>>();
    let is_whole = matches!(
        &parts[..],
        ["projects", _, "global", _, _]
            | ["projects", _, "regions" | "zones", _, _, _]
            | ["projects", _, "regions" | "zones", _]
    );
    (is_whole && !parts.iter().any(|it| it.is_empty() || *it == "..")).then_some(path)
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.starts_with("127.")
}

/// The path in a link, or all of what is none.
pub(super) fn path_of(link: &str) -> &str {
    link.strip_prefix(BASE).unwrap_or(link)
}

/// The link to a path.
#[must_use]
pub fn link(path: &str) -> String {
    format!("{BASE}{path}")
}

/// The last segment of a path or a link.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_to_the_api_alone() {
        let web = Some("projects/p1/global/networks/web".to_owned());
        for (reference, path) in [
            ("https://www.googleapis.com/compute/v1/projects/p1/global/networks/web", web.clone()),
            ("https://compute.googleapis.com/compute/v1/projects/p1/global/networks/web", web.clone()),
            ("http://127.0.0.1:4444/compute/v1/projects/p1/global/networks/web", web.clone()),
            ("projects/p1/global/networks/web", web.clone()),
            ("global/networks/web", web),
            ("/zones/z/instances/n", Some("projects/p1/zones/z/instances/n".to_owned())),
            ("zones/z/instances/n", Some("projects/p1/zones/z/instances/n".to_owned())),
            ("https://evil.example/compute/v1/projects/p1/global/networks/web", None),
            ("https://googleapis.com.evil.example/compute/v1/projects/p1/global/networks/web", None),
            ("web", None),
            ("projects/p1/global/networks", None),
            ("projects/p1/global/../networks/web", None),
        ] {
            assert_eq!(referred(reference, "p1"), path, "{reference}");
        }
    }
}
