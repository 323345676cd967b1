//! `--controllers`: which controllers run.

/// A controller of a cloud-controller-manager.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ControllerName {
    /// Initialises nodes and keeps their labels and addresses.
    CloudNode,
    /// Deletes nodes whose machines are gone.
    CloudNodeLifecycle,
    /// Load balancers of Services.
    Service,
    /// Pod networks of nodes.
    NodeIpam,
    /// Routes between pod networks.
    Route,
    /// Labels of PersistentVolumes.
    PersistentVolumeLabel,
    /// Volumes of PersistentVolumeClaims.
    VolumeProvisioner,
    /// Volumes at the machines of nodes.
    VolumeAttacher,
    /// Volumes whose claims ask for more.
    VolumeExpander,
}

impl ControllerName {
    /// All that `--controllers` knows, also those that this release does not have.
    pub const ALL: [Self; 9] = [
        Self::CloudNode,
        Self::CloudNodeLifecycle,
        Self::Service,
        Self::NodeIpam,
        Self::Route,
        Self::PersistentVolumeLabel,
        Self::VolumeProvisioner,
        Self::VolumeAttacher,
        Self::VolumeExpander,
    ];

    /// The canonical name: in `--controllers`, in `/healthz` and in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CloudNode => "cloud-node-controller",
            Self::CloudNodeLifecycle => "cloud-node-lifecycle-controller",
            Self::Service => "service-lb-controller",
            Self::NodeIpam => "node-ipam-controller",
            Self::Route => "node-route-controller",
            Self::PersistentVolumeLabel => "persistentvolume-label-controller",
            Self::VolumeProvisioner => "volume-provisioner",
            Self::VolumeAttacher => "volume-attacher",
            Self::VolumeExpander => "volume-expander",
        }
    }

    /// The older name: still understood in `--controllers`, and the label of `running_managed_controllers`.
    #[must_use]
    pub fn alias(self) -> &'static str {
        match self {
            Self::CloudNode => "cloud-node",
            Self::CloudNodeLifecycle => "cloud-node-lifecycle",
            Self::Service => "service",
            Self::NodeIpam => "nodeipam",
            Self::Route => "route",
            Self::PersistentVolumeLabel => "pvlabel",
            Self::VolumeProvisioner => "volume-provisioner",
            Self::VolumeAttacher => "volume-attacher",
            Self::VolumeExpander => "volume-expander",
        }
    }

    /// Whether `*` means it, too. A vendor's own controller may be at work on the same volumes, so that one is asked for by name.
    #[must_use]
    pub fn is_on_by_default(self) -> bool {
        !matches!(self, Self::VolumeProvisioner | Self::VolumeAttacher | Self::VolumeExpander)
    }

    /// The controller with this name or alias.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name || it.alias() == name)
    }
}

/// The value of `--controllers`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Controllers(Vec<Mention>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Mention {
    All,
    On(ControllerName),
    Off(ControllerName),
}

impl Controllers {
    /// No controller at all: an empty list.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Reads the items of the list: `*`, names and aliases, and these with `-` before them.
    ///
    /// # Errors
    ///
    /// One sentence for each name that nobody knows.
    pub fn parse(items: &[String]) -> Result<Self, Vec<String>> {
        let mut entries = Vec::new();
        let mut errors = Vec::new();
        for item in items.iter().map(String::as_str).filter(|it| !it.is_empty()) {
            let (name, entry): (&str, fn(ControllerName) -> Mention) = match item.strip_prefix('-') {
                Some(name) => (name, Mention::Off),
                None => (item, Mention::On),
            };
            match (item, ControllerName::parse(name)) {
                ("*", _) => entries.push(Mention::All),
                (_, Some(controller)) => entries.push(entry(controller)),
                (_, None) => errors.push(format!(
                    "\"{name}\" is not in the list of known controllers: --controllers takes *, {} and their aliases, \
                     and a name with - before it to switch it off",
                    ControllerName::ALL.map(ControllerName::name).join(", "),
                )),
            }
        }
        if errors.is_empty() { Ok(Self(entries)) } else { Err(errors) }
    }

    /// Whether `controller` is to run. Its first mention decides; without one, `*` does for those that are on by default.
    #[must_use]
    pub fn is_enabled(&self, controller: ControllerName) -> bool {
        self.0
            .iter()
            .find_map(|entry| match entry {
                Mention::On(it) if *it == controller => Some(true),
                Mention::Off(it) if *it == controller => Some(false),
                Mention::All | Mention::On(_) | Mention::Off(_) => None,
            })
            .unwrap_or_else(|| controller.is_on_by_default() && self.0.contains(&Mention::All))
    }

    /// Whether `controller` was asked for by its name, and not only by `*`.
    #[must_use]
    pub fn names(&self, controller: ControllerName) -> bool {
        self.is_enabled(controller) && self.0.contains(&Mention::On(controller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &str, enabled: &[&str]) {
        let items: Vec<String> = list.split(',').map(str::to_owned).collect();
        let controllers = Controllers::parse(&items).expect(list);
        let running: Vec<_> = ControllerName::ALL
            .into_iter()
            .filter(|it| controllers.is_enabled(*it))
            .map(ControllerName::alias)
            .collect();
        assert_eq!(running, enabled, "--controllers={list}");
    }

    fn check_refused(list: &str, name: &str) {
        let items: Vec<String> = list.split(',').map(str::to_owned).collect();
        let errors = Controllers::parse(&items).expect_err(list);
        assert!(errors[0].starts_with(&format!("\"{name}\" is not in the list of known controllers")), "{errors:?}");
    }

    #[test]
    fn the_first_mention_decides() {
        check("*", &["cloud-node", "cloud-node-lifecycle", "service", "nodeipam", "route", "pvlabel"]);
        check("*,-route", &["cloud-node", "cloud-node-lifecycle", "service", "nodeipam", "pvlabel"]);
        check(
            "*,volume-provisioner",
            &["cloud-node", "cloud-node-lifecycle", "service", "nodeipam", "route", "pvlabel", "volume-provisioner"],
        );
        check("volume-provisioner", &["volume-provisioner"]);
        check("volume-expander,-volume-attacher", &["volume-expander"]);
        check(
            "volume-attacher,*,-service",
            &["cloud-node", "cloud-node-lifecycle", "nodeipam", "route", "pvlabel", "volume-attacher"],
        );
        check(
            "*,-volume-provisioner,volume-provisioner,-pvlabel",
            &["cloud-node", "cloud-node-lifecycle", "service", "nodeipam", "route"],
        );
        check("cloud-node", &["cloud-node"]);
        check("-route,route", &[]);
        check("route,-route", &["route"]);
        check("-route", &[]);
        check("", &[]);
    }

    #[test]
    fn aliases_are_names() {
        for controller in ControllerName::ALL {
            check(controller.name(), &[controller.alias()]);
            check(controller.alias(), &[controller.alias()]);
            let others = ControllerName::ALL.into_iter().filter(|it| *it != controller && it.is_on_by_default());
            let others: Vec<_> = others.map(ControllerName::alias).collect();
            check(&format!("*,-{}", controller.alias()), &others);
            check(&format!("*,-{}", controller.name()), &others);
        }
    }

    #[test]
    fn unknown_names_are_errors() {
        check_refused("nope", "nope");
        check_refused("-nope", "nope");
        check_refused("service-controller", "service-controller");
        check_refused("-*", "*");
    }
}
