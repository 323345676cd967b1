//! Leader migration: controllers that pass from one manager to another one, under a Lease of their own.
//!
//! The file is upstream's, as kube-controller-manager reads it too (KEP-2436).

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use serde::Deserialize;

use super::controllers::ControllerName;
use super::values;

/// The heading of the flags of leader election.
pub(super) const ELECTION: &str = "Leader election";

/// Our name in the file.
const COMPONENT: &str = "cloud-controller-manager";
/// Upstream's Lease, where no file names another.
const LEADER_NAME: &str = "cloud-provider-extraction-migration";
const GROUP: &str = "controllermanager.config.k8s.io";
const KIND: &str = "LeaderMigrationConfiguration";
/// No file is larger.
const BYTES: u64 = 1 << 20;

/// The controllers that each manager runs while one takes them over from another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeaderMigration {
    /// The name of the Lease under which controllers pass from one manager to the other.
    pub leader_name: String,
    /// The controllers that pass, and whether we may run them.
    controllers: Vec<(ControllerName, bool)>,
}

/// Under which Lease a controller runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LeaseOwner {
    /// The main one.
    Main,
    /// That of the migration.
    Migration,
    /// None: another manager runs it.
    Another,
}

#[derive(Args, Debug)]
pub(super) struct LeaderMigrationFlags {
    /// Run the controllers that --leader-migration-config names under a second Lease, which another manager holds until it
    /// gives them up: no controller ever runs in both
    #[arg(long, help_heading = ELECTION, default_value = "false", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = values::boolean,
          value_name = "true|false")]
    enable_leader_migration: bool,
    /// The file that names the second Lease and its controllers, in upstream's format; the same file for all managers.
    /// Without it: upstream's default
    #[arg(long, help_heading = ELECTION, value_name = "FILE", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    leader_migration_config: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MigrationFile {
    api_version: String,
    kind: String,
    #[serde(default)]
    leader_name: String,
    #[serde(default)]
    resource_lock: String,
    #[serde(default)]
    controller_leaders: Vec<MigratedController>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MigratedController {
    #[serde(default)]
    name: String,
    #[serde(default)]
    component: String,
}

impl LeaseOwner {
    /// Under which Lease a controller runs where managers change, or do not.
    pub(crate) fn of(controller: ControllerName, migration: Option<&LeaderMigration>) -> Self {
        migration.map_or(Self::Main, |it| it.owner(controller))
    }
}

impl LeaderMigration {
    /// Under which Lease a controller runs.
    #[must_use]
    pub fn owner(&self, controller: ControllerName) -> LeaseOwner {
        match self.controllers.iter().find(|(it, _)| *it == controller) {
            None => LeaseOwner::Main,
            Some((_, true)) => LeaseOwner::Migration,
            Some((_, false)) => LeaseOwner::Another,
        }
    }

    /// Upstream's migration without a file.
    fn recommended() -> Self {
        let controllers = [ControllerName::Route, ControllerName::Service, ControllerName::CloudNodeLifecycle];
        Self { leader_name: LEADER_NAME.to_owned(), controllers: controllers.map(|it| (it, true)).to_vec() }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: MigrationFile = serde_saphyr::from_str(text).map_err(|error| controllers::chain(&error))?;
        let version = file.api_version.strip_prefix(GROUP).and_then(|it| it.strip_prefix('/'));
        if !matches!(version, Some("v1alpha1" | "v1beta1" | "v1")) {
            return Err(format!(
                "apiVersion is {:?}; write {GROUP}/v1, or v1beta1 or v1alpha1 of this group",
                file.api_version
            ));
        }
        if file.kind != KIND {
            return Err(format!("kind is {:?}; write {KIND}", file.kind));
        }
        if file.leader_name.is_empty() {
            return Err("leaderName is missing: it names the Lease that both managers seek".to_owned());
        }
        if !matches!(file.resource_lock.as_str(), "" | "leases") {
            return Err(format!("resourceLock is {:?}; only leases are locks", file.resource_lock));
        }
        let mut controllers: Vec<(ControllerName, bool)> = Vec::new();
        for MigratedController { name, component } in file.controller_leaders {
            if name.is_empty() || component.is_empty() {
                return Err(format!(
                    "an item of controllerLeaders has the name {name:?} and the component {component:?}; neither can be empty"
                ));
            }
            let controller = controller(&name)?;
            if controllers.iter().any(|(it, _)| *it == controller) {
                return Err(format!("the controller {} is named twice", controller.name()));
            }
            controllers.push((controller, component == "*" || component == COMPONENT));
        }
        Ok(Self { leader_name: file.leader_name, controllers })
    }
}

/// The controller with this name, alias or older name.
fn controller(name: &str) -> Result<ControllerName, String> {
    let found = match name {
        "service-controller" => Some(ControllerName::Service),
        "route-controller" => Some(ControllerName::Route),
        name => ControllerName::parse(name),
    };
    found.ok_or_else(|| {
        let known = ControllerName::ALL.map(ControllerName::name).join(", ");
        format!("controllerLeaders has the controller {name:?}, which cannot pass to aerostat: known are {known}, and their aliases")
    })
}

/// `None` without `--enable-leader-migration`: then the file is not read.
pub(super) fn leader_migration(
    flags: &LeaderMigrationFlags,
    main: Option<&str>,
    warnings: &mut Vec<String>,
    errors: &mut Vec<String>,
) -> Option<LeaderMigration> {
    if !flags.enable_leader_migration {
        return None;
    }
    let Some(main) = main else {
        warnings.push("--enable-leader-migration has no effect with --leader-elect=false".to_owned());
        return None;
    };
    let path = flags.leader_migration_config.as_path();
    let migration = match path.as_os_str().is_empty() {
        true => Ok(LeaderMigration::recommended()),
        false => read(path).and_then(|it| LeaderMigration::parse(&it)),
    };
    match migration {
        Ok(it) if it.leader_name == main => {
            errors.push(format!(
                "--leader-migration-config {}: leaderName {main} is the name of the main Lease, which \
                 --leader-elect-resource-name gives: the migration needs another one",
                path.display()
            ));
            None
        }
        Ok(migration) => Some(migration),
        Err(error) => {
            errors.push(format!("--leader-migration-config {}: {error}", path.display()));
            None
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?.len();
    if size > BYTES {
        return Err(format!("has {size} bytes, more than {BYTES}"));
    }
    std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "leaderName: migration\ncontrollerLeaders:\n";

    fn file(rest: &str) -> String {
        format!("apiVersion: {GROUP}/v1\nkind: {KIND}\n{rest}")
    }

    fn item(name: &str, component: &str) -> String {
        format!("- name: {name}\n  component: {component:?}\n")
    }

    fn owners(items: &str) -> Vec<LeaseOwner> {
        let migration = LeaderMigration::parse(&file(&format!("{NAMES}{items}"))).unwrap();
        [ControllerName::Service, ControllerName::Route, ControllerName::NodeIpam, ControllerName::CloudNode]
            .map(|it| migration.owner(it))
            .into()
    }

    fn refused(text: &str) -> String {
        LeaderMigration::parse(text).unwrap_err()
    }

    #[test]
    fn case_245_the_file_says_who_runs_what() {
        let all = |component: &str| {
            let names = ["service-lb-controller", "node-route-controller", "node-ipam-controller"];
            owners(&names.map(|it| item(it, component)).concat())
        };
        assert_eq!(
            all("kube-controller-manager"),
            [LeaseOwner::Another, LeaseOwner::Another, LeaseOwner::Another, LeaseOwner::Main]
        );
        assert_eq!(
            all(COMPONENT),
            [LeaseOwner::Migration, LeaseOwner::Migration, LeaseOwner::Migration, LeaseOwner::Main]
        );
        assert_eq!(all("*"), all(COMPONENT));
    }

    #[test]
    fn case_246_three_versions_are_read() {
        for version in ["v1alpha1", "v1beta1", "v1"] {
            let text = file(&format!("resourceLock: leases\n{NAMES}{}", item("nodeipam", "*")));
            let migration = LeaderMigration::parse(&text.replace("/v1\n", &format!("/{version}\n"))).unwrap();
            assert_eq!(migration.leader_name, "migration");
            assert_eq!(migration.owner(ControllerName::NodeIpam), LeaseOwner::Migration);
        }
    }

    #[test]
    fn case_246_a_missing_or_unknown_field_is_an_error() {
        for (text, part) in [
            (file("leaderName: a\nextra: 1\n"), "extra"),
            (file("controllerLeaders: []\n"), "leaderName is missing"),
            (file(&format!("{NAMES}- component: '*'\n")), "neither can be empty"),
            (file(&format!("{NAMES}- name: route\n")), "neither can be empty"),
            (file("leaderName: a\nresourceLock: endpoints\n"), "only leases"),
            (file("leaderName: a\n").replace("/v1", "/v2"), "apiVersion"),
            (file("leaderName: a\n").replace(KIND, "Other"), "kind is"),
            (file(&format!("{NAMES}{}{}", item("route", "*"), item("route-controller", "*"))), "named twice"),
            ("{".to_owned(), ""),
            (String::new(), ""),
        ] {
            let error = refused(&text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn case_253_aliases_and_older_names_are_names() {
        for name in ["service-controller", "service", "service-lb-controller"] {
            assert_eq!(owners(&item(name, "*"))[0], LeaseOwner::Migration, "{name}");
        }
        for name in ["route-controller", "route", "node-route-controller"] {
            assert_eq!(owners(&item(name, "*"))[1], LeaseOwner::Migration, "{name}");
        }
        let recommended = LeaderMigration::recommended();
        assert_eq!(recommended.leader_name, "cloud-provider-extraction-migration");
        for it in [ControllerName::Service, ControllerName::Route, ControllerName::CloudNodeLifecycle] {
            assert_eq!(recommended.owner(it), LeaseOwner::Migration);
        }
        assert_eq!(recommended.owner(ControllerName::CloudNode), LeaseOwner::Main);
    }

    /// Cases: bad-migration
    #[test]
    fn bad_input_a_migration_file_with_an_unknown_controller() {
        let error = refused(&file(&format!("{NAMES}{}", item("nope-controller", "*"))));
        assert!(error.contains("\"nope-controller\"") && error.contains("node-ipam-controller"), "{error}");
    }
}
