//! `--feature-gates`: those of upstream's manager that mean something here.

use clap::{ArgAction, Args};

use super::values;

const HEADING: &str = "Feature gates";

const WEBHOOK: &str = "CloudControllerManagerWebhook";
/// Here they always do, whatever is said.
const WATCH_BASED_ROUTES: &str = "CloudControllerManagerWatchBasedRoutesReconciliation";
const KNOWN: [&str; 2] = [WATCH_BASED_ROUTES, WEBHOOK];

/// Gates that upstream's manager takes for the libraries that it is made of, and that mean nothing here: those of
/// `k8s.io/component-base`, `k8s.io/controller-manager` and, of `k8s.io/apiserver` and `k8s.io/client-go`, those that clients have.
const OF_LIBRARIES: &str = "AllAlpha AllBeta APIServerIdentity APIServerTracing CBORServingAndStorage ComponentFlagz \
     ComponentStatusz ContextualLogging ControllerManagerReleaseLeaderElectionLockOnExit \
     CoordinatedLeaderElection InformerResourceVersion LoggingAlphaOptions LoggingBetaOptions \
     LoggingStableOptions NativeHistograms UnauthenticatedHTTP2DOSMitigation WatchListClient";

/// As clap reads it.
#[derive(Args, Debug)]
pub(super) struct FeatureGateFlags {
    /// NAME=true or NAME=false, with commas: CloudControllerManagerWebhook serves --webhooks;
    /// CloudControllerManagerWatchBasedRoutesReconciliation is always on; gates of upstream's libraries are a warning
    #[arg(long, help_heading = HEADING, value_name = "LIST", action = ArgAction::Append)]
    feature_gates: Vec<String>,
}

/// Which gates are on.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct FeatureGates {
    /// Webhooks are served.
    pub(super) webhook: bool,
}

impl FeatureGateFlags {
    /// Reads the list. Of several mentions of one gate the last counts.
    pub(super) fn check(&self, warnings: &mut Vec<String>, errors: &mut Vec<String>) -> FeatureGates {
        let mut gates = FeatureGates::default();
        for item in self.feature_gates.iter().flat_map(|it| it.split(',')).map(str::trim).filter(|it| !it.is_empty()) {
            let (name, value) = item.split_once('=').map_or((item, None), |(name, value)| (name.trim(), Some(value)));
            let is_of_library = OF_LIBRARIES.split(' ').any(|it| it == name);
            if is_of_library && value.is_some_and(|it| values::boolean(it.trim()).is_ok()) {
                warnings.push(format!("--feature-gates={item} has no effect: the gate is one of upstream's libraries"));
                continue;
            }
            if !KNOWN.contains(&name) && !is_of_library {
                errors.push(format!(
                    "--feature-gates: unrecognized feature gate: {name}. There are {}; leave the others out",
                    KNOWN.join(" and ")
                ));
                continue;
            }
            let Some(value) = value.and_then(|it| values::boolean(it.trim()).ok()) else {
                errors.push(format!("--feature-gates: {item:?} has no value: write {name}=true or {name}=false"));
                continue;
            };
            match name {
                WEBHOOK => gates.webhook = value,
                _ if !value => warnings.push(format!(
                    "--feature-gates={name}=false has no effect: routes are reconciled when something changes, and now \
                     and then"
                )),
                _ => {}
            }
        }
        gates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lists: &[&str]) -> (bool, Vec<String>, Vec<String>) {
        let flags = FeatureGateFlags { feature_gates: lists.iter().map(|it| (*it).to_owned()).collect() };
        let (mut warnings, mut errors) = (Vec::new(), Vec::new());
        let FeatureGates { webhook } = flags.check(&mut warnings, &mut errors);
        (webhook, warnings, errors)
    }

    #[test]
    fn the_last_mention_of_a_gate_counts() {
        assert_eq!(check(&[]), (false, vec![], vec![]));
        assert_eq!(check(&["CloudControllerManagerWebhook=true"]), (true, vec![], vec![]));
        assert!(!check(&["CloudControllerManagerWebhook=true, CloudControllerManagerWebhook=false"]).0);
        assert!(check(&["CloudControllerManagerWebhook=F", "CloudControllerManagerWebhook=1"]).0);
    }

    #[test]
    fn routes_always_follow_changes() {
        let gate = WATCH_BASED_ROUTES;
        assert_eq!(check(&[&format!("{gate}=true")]), (false, vec![], vec![]));
        let (_, warnings, errors) = check(&[&format!("{gate}=false")]);
        assert!(errors.is_empty() && warnings[0].contains("has no effect"), "{warnings:?}");
    }

    #[test]
    fn gates_of_libraries_are_a_warning() {
        let (_, warnings, errors) = check(&["AllBeta=true,NativeHistograms=false"]);
        assert_eq!((warnings.len(), errors.len()), (2, 0), "{warnings:?} {errors:?}");
        assert!(warnings[0].starts_with("--feature-gates=AllBeta=true has no effect"), "{warnings:?}");
    }

    #[test]
    fn other_gates_and_values_are_errors_by_name() {
        for (list, part) in [
            ("Nope=true", "unrecognized feature gate: Nope"),
            ("NativeHistograms=perhaps", "has no value"),
            ("CloudControllerManagerWebhook", "has no value"),
            ("CloudControllerManagerWebhook=perhaps", "has no value"),
        ] {
            let errors = check(&[list]).2;
            assert!(errors.len() == 1 && errors[0].contains(part), "{errors:?}");
        }
    }
}
