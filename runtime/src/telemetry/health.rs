//! `/healthz`: what is checked, and how the answer reads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

/// The checks of this process, in the order in which they were added.
pub(crate) struct Health {
    checks: Mutex<Vec<Check>>,
    healthy: IntGaugeVec,
    checked: IntCounterVec,
}

struct Check {
    name: &'static str,
    passes: Box<dyn Fn() -> bool + Send + Sync>,
}

/// The answer to one request.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Report {
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
        Ok(Self { checks: Mutex::default(), healthy, checked })
    }

    /// Adds a check. `passes` must be quick.
    pub(crate) fn add(&self, name: &'static str, passes: impl Fn() -> bool + Send + Sync + 'static) {
        self.checks().push(Check { name, passes: Box::new(passes) });
    }

    /// Makes the checks, except those that `excluded` names.
    pub(super) fn report(&self, verbose: bool, excluded: &[String]) -> Report {
        let checks = self.checks();
        let mut text = String::new();
        let mut failed = false;
        for check in checks.iter() {
            let name = check.name;
            if excluded.iter().any(|it| it == name) {
                text += &format!("[+]{name} excluded: ok\n");
            } else if self.make(check) {
                text += &format!("[+]{name} ok\n");
            } else {
                failed = true;
                text += &format!("[-]{name} failed: reason withheld\n");
            }
        }
        if checks.is_empty() {
            text += "[+]ping ok\n";
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
            (true, _) => Report { healthy: false, text: text + "healthz check failed\n" },
            (false, true) => Report { healthy: true, text: text + "healthz check passed\n" },
            (false, false) => Report { healthy: true, text: "ok".to_owned() },
        }
    }

    fn make(&self, check: &Check) -> bool {
        let passes = (check.passes)();
        self.healthy.with_label_values(&[check.name, "healthz"]).set(passes.into());
        self.checked.with_label_values(&[check.name, "healthz", if passes { "success" } else { "error" }]).inc();
        passes
    }

    fn checks(&self) -> MutexGuard<'_, Vec<Check>> {
        // A check that panics leaves the list as it was.
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
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
        let report = health(checks).report(verbose, &excluded);
        assert_eq!(report, Report { healthy, text: text.to_owned() });
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
    fn a_failed_check_is_told_without_being_asked() {
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
}
