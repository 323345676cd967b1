//! `/healthz` and `/readyz`: what is checked, and how the answer reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use egress::Unreached;
use parking_lot::{Mutex, MutexGuard};
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};
use tokio::sync::watch;

/// The checks of this process, in the order in which they were added.
pub(crate) struct Health {
    checks: Mutex<Vec<Check>>,
    /// Controllers that wait for a right. `/readyz` names them, and passes all the same.
    stopped: Mutex<BTreeSet<&'static str>>,
    /// Endpoints of the cloud that are not reached, once somebody follows them. `/readyz` names them, and passes all the same.
    unreached: Mutex<Option<watch::Receiver<Arc<[Unreached]>>>>,
    healthy: IntGaugeVec,
    checked: IntCounterVec,
}

struct Check {
    name: &'static str,
    /// `/readyz` makes the checks of `/healthz` as well.
    on: HealthPage,
    passes: Box<dyn Fn() -> bool + Send + Sync>,
}

/// The page that is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HealthPage {
    /// `/healthz`: a restart would help where it fails.
    Healthz,
    /// `/readyz`: it works, or would if it led. Upstream has no such page.
    Readyz,
}

/// The answer to one request.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct HealthReport {
    pub(super) healthy: bool,
    pub(super) text: String,
}

impl Health {
    /// No checks yet. Their outcomes are counted in families of `registry`, which `/metrics/slis` shows.
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let healthy = IntGaugeVec::new(
            Opts::new("kubernetes_healthcheck", "1 if the check passed when it was last made, 0 if not."),
            &["name", "type"],
        )?;
        let checked = IntCounterVec::new(
            Opts::new("kubernetes_healthchecks_total", "Checks made, by outcome."),
            &["name", "type", "status"],
        )?;
        registry.register(Box::new(healthy.clone()))?;
        registry.register(Box::new(checked.clone()))?;
        Ok(Self { checks: Mutex::default(), stopped: Mutex::default(), unreached: Mutex::default(), healthy, checked })
    }

    /// Adds a check of both pages. `passes` must be quick.
    pub(crate) fn add(&self, name: &'static str, passes: impl Fn() -> bool + Send + Sync + 'static) {
        self.checks().push(Check { name, on: HealthPage::Healthz, passes: Box::new(passes) });
    }

    /// Adds a check of `/readyz` alone: of what no restart mends. `passes` must be quick.
    pub(crate) fn add_to_readiness(&self, name: &'static str, passes: impl Fn() -> bool + Send + Sync + 'static) {
        self.checks().push(Check { name, on: HealthPage::Readyz, passes: Box::new(passes) });
    }

    /// Says whether a controller waits for a right that it alone needs. It is named on `/readyz`, which fails for no such
    /// reason: the other controllers work, and another replica lacks the same.
    pub(crate) fn stopped(&self, controller: &'static str, is_stopped: bool) {
        let mut stopped = self.stopped.lock();
        if is_stopped {
            stopped.insert(controller)
        } else {
            stopped.remove(controller)
        };
    }

    /// Names on `/readyz` what of the cloud is not reached. The page does not fail for it: another replica is no nearer to the
    /// cloud, and webhooks that do not ask it go on answering.
    pub(crate) fn names_unreached(&self, unreached: watch::Receiver<Arc<[Unreached]>>) {
        *self.unreached.lock() = Some(unreached);
    }

    /// Makes the checks of a page, except those that `excluded` names.
    pub(super) fn report(&self, page: HealthPage, verbose: bool, excluded: &[String]) -> HealthReport {
        let checks = self.checks();
        let checks: Vec<_> = checks.iter().filter(|it| it.on == HealthPage::Healthz || it.on == page).collect();
        let mut text = String::new();
        let mut failed = false;
        for check in &checks {
            let name = check.name;
            if excluded.iter().any(|it| it == name) {
                text += &format!("[+]{name} excluded: ok\n");
            } else if self.make(check, page) {
                text += &format!("[+]{name} ok\n");
            } else {
                failed = true;
                text += &format!("[-]{name} failed: reason withheld\n");
            }
        }
        if checks.is_empty() {
            text += "[+]ping ok\n";
        }
        if page == HealthPage::Readyz {
            let stopped = self.stopped.lock();
            text.extend(stopped.iter().map(|name| format!("[-]{name} stopped: a permission is missing\n")));
            if let Some(unreached) = &*self.unreached.lock() {
                let line = |it: &Unreached| format!("[-]endpoint {} not reached: {}\n", it.endpoint, it.cause);
                text.extend(unreached.borrow().iter().map(line));
            }
        }
        let unknown: Vec<_> = excluded
            .iter()
            .filter(|name| !checks.iter().any(|it| it.name == name.as_str()))
            .map(|it| format!("{it:?}"))
            .collect();
        if !unknown.is_empty() {
            text += &format!("warn: some health checks cannot be excluded: no matches for {}\n", unknown.join(", "));
        }
        match (failed, verbose) {
            (true, _) => HealthReport { healthy: false, text: text + page.name() + " check failed\n" },
            (false, true) => HealthReport { healthy: true, text: text + page.name() + " check passed\n" },
            (false, false) => HealthReport { healthy: true, text: "ok".to_owned() },
        }
    }

    fn make(&self, check: &Check, page: HealthPage) -> bool {
        let (passes, page) = ((check.passes)(), page.name());
        self.healthy.with_label_values(&[check.name, page]).set(passes.into());
        self.checked.with_label_values(&[check.name, page, if passes { "success" } else { "error" }]).inc();
        passes
    }

    fn checks(&self) -> MutexGuard<'_, Vec<Check>> {
        // A check that panics leaves the list as it was.
        self.checks.lock()
    }
}

impl HealthPage {
    /// As it is called in answers and in metrics.
    fn name(self) -> &'static str {
        match self {
            Self::Healthz => "healthz",
            Self::Readyz => "readyz",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(checks: &[(&'static str, bool)]) -> Health {
        let health = Health::register(&Registry::new()).unwrap();
        for (name, passes) in checks.iter().copied() {
            health.add(name, move || passes);
        }
        health
    }

    fn check(checks: &[(&'static str, bool)], verbose: bool, excluded: &[&str], healthy: bool, text: &str) {
        let excluded: Vec<String> = excluded.iter().map(|it| (*it).to_owned()).collect();
        let report = health(checks).report(HealthPage::Healthz, verbose, &excluded);
        assert_eq!(report, HealthReport { healthy, text: text.to_owned() });
    }

    #[test]
    fn healthy_is_ok_and_verbose_names_every_check() {
        check(&[], false, &[], true, "ok");
        check(&[], true, &[], true, "[+]ping ok\nhealthz check passed\n");
        check(
            &[("leaderElection", true), ("cloud-node-controller", true)],
            true,
            &[],
            true,
            "[+]leaderElection ok\n[+]cloud-node-controller ok\nhealthz check passed\n",
        );
    }

    #[test]
    fn a_failed_check_is_shown_without_verbose() {
        check(
            &[("leaderElection", false), ("cloud-node-controller", true)],
            false,
            &[],
            false,
            "[-]leaderElection failed: reason withheld\n[+]cloud-node-controller ok\nhealthz check failed\n",
        );
    }

    #[test]
    fn an_excluded_check_does_not_fail() {
        check(
            &[("leaderElection", false)],
            true,
            &["leaderElection"],
            true,
            "[+]leaderElection excluded: ok\nhealthz check passed\n",
        );
        check(
            &[("leaderElection", true)],
            true,
            &["nope"],
            true,
            "[+]leaderElection ok\nwarn: some health checks cannot be excluded: no matches for \"nope\"\n\
             healthz check passed\n",
        );
    }

    #[test]
    fn a_check_that_no_restart_mends_is_of_readyz_alone() {
        let health = health(&[("leaderElection", true)]);
        health.add_to_readiness("permissions", || false);
        let report = |page| health.report(page, true, &[]);
        let healthy = "[+]leaderElection ok\nhealthz check passed\n".to_owned();
        assert_eq!(report(HealthPage::Healthz), HealthReport { healthy: true, text: healthy });
        let text = "[+]leaderElection ok\n[-]permissions failed: reason withheld\nreadyz check failed\n".to_owned();
        assert_eq!(report(HealthPage::Readyz), HealthReport { healthy: false, text });
    }

    #[test]
    fn an_unreached_endpoint_is_named_and_fails_nothing() {
        let health = health(&[("leaderElection", true)]);
        let out = Unreached { endpoint: "api".to_owned(), cause: "dns", sentence: String::new() };
        let (unreached, receiver) = watch::channel(Arc::from([out]));
        health.names_unreached(receiver);
        let report = |page, verbose| health.report(page, verbose, &[]);
        let text = "[+]leaderElection ok\n[-]endpoint api not reached: dns\nreadyz check passed\n";
        assert_eq!(report(HealthPage::Readyz, true), HealthReport { healthy: true, text: text.to_owned() });
        assert_eq!(report(HealthPage::Readyz, false), HealthReport { healthy: true, text: "ok".to_owned() });
        assert!(!report(HealthPage::Healthz, true).text.contains("api"));
        unreached.send_replace(Arc::default());
        assert!(!report(HealthPage::Readyz, true).text.contains("api"));
    }

    #[test]
    fn a_stopped_controller_is_named_and_fails_nothing() {
        let health = health(&[("leaderElection", true)]);
        health.stopped("persistentvolume-label-controller", true);
        let report = |page, verbose| health.report(page, verbose, &[]);
        let text = "[+]leaderElection ok\n[-]persistentvolume-label-controller stopped: a permission is missing\n\
                    readyz check passed\n";
        assert_eq!(report(HealthPage::Readyz, true), HealthReport { healthy: true, text: text.to_owned() });
        assert_eq!(report(HealthPage::Readyz, false), HealthReport { healthy: true, text: "ok".to_owned() });
        assert!(!report(HealthPage::Healthz, true).text.contains("stopped"));
        health.stopped("persistentvolume-label-controller", false);
        assert!(!report(HealthPage::Readyz, true).text.contains("stopped"));
    }
}
