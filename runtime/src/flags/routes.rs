//! Flags about routes between pod networks.

use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args};

use super::values;

const ROUTES: &str = "Routes";
/// As clap calls the flag.
const PERIOD: &str = "route_reconciliation_period";

/// The flags.
#[derive(Args, Debug)]
pub(super) struct RouteFlags {
    /// Make the routes of pod networks in the cloud, if the provider can; needs --cluster-cidr
    #[arg(long, help_heading = ROUTES, default_value = "true", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = values::boolean,
          value_name = "true|false")]
    configure_cloud_routes: bool,
    /// How often all routes of the cloud are listed; upstream's default is 10s. Changes of nodes are followed at once, and need
    /// no list
    #[arg(long, help_heading = ROUTES, value_name = "DURATION", default_value = "10m0s",
          value_parser = values::duration, allow_hyphen_values = true)]
    route_reconciliation_period: Duration,
    /// How long after it began to lead aerostat deletes or moves no route without a node whose deletion or change it has seen
    #[arg(long, help_heading = ROUTES, value_name = "DURATION", default_value = "1m0s",
          value_parser = values::duration, allow_hyphen_values = true)]
    route_deletion_warm_up: Duration,
    /// How many percent of the routes may be deleted or moved like that in one window; one always may
    #[arg(long, help_heading = ROUTES, value_name = "PERCENT", default_value = "10", allow_negative_numbers = true)]
    route_deletion_budget: i32,
    /// How long such a deletion counts against the budget
    #[arg(long, help_heading = ROUTES, value_name = "DURATION", default_value = "10m0s",
          value_parser = values::duration, allow_hyphen_values = true)]
    route_deletion_budget_window: Duration,
}

/// How the node-route-controller works.
#[derive(Clone, Copy, Debug)]
pub struct RouteControllerFlags {
    /// `--configure-cloud-routes`.
    pub enabled: bool,
    /// `--route-reconciliation-period`, if it was given; more than nothing.
    pub period: Option<Duration>,
    /// `--route-deletion-warm-up`.
    pub warm_up: Duration,
    /// `--route-deletion-budget`, in percent: from 0 to 100.
    pub budget: u8,
    /// `--route-deletion-budget-window`.
    pub budget_window: Duration,
}

/// Checks what clap cannot. `given` is what the command line says itself.
pub(super) fn check(flags: &RouteFlags, given: Option<&ArgMatches>, errors: &mut Vec<String>) -> RouteControllerFlags {
    let is_given = given.is_some_and(|it| it.value_source(PERIOD) == Some(ValueSource::CommandLine));
    if flags.route_reconciliation_period.is_zero() {
        errors.push("route-reconciliation-period must be a positive duration".to_owned());
    }
    let budget = u8::try_from(flags.route_deletion_budget).ok().filter(|it| *it <= 100);
    if budget.is_none() {
        errors.push("route-deletion-budget is a percentage: write a number from 0 to 100".to_owned());
    }
    RouteControllerFlags {
        enabled: flags.configure_cloud_routes,
        period: is_given.then_some(flags.route_reconciliation_period),
        warm_up: flags.route_deletion_warm_up,
        budget: budget.unwrap_or(0),
        budget_window: flags.route_deletion_budget_window,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::flags::RunSettings;

    fn parse(flags: &[&str]) -> Result<super::RouteControllerFlags, String> {
        let line = ["aerostat", "--cloud-config=/cloud.yaml"].iter().chain(flags);
        RunSettings::parse(line).map(|it| it.routes).map_err(|it| it.to_string())
    }

    #[test]
    fn all_routes_are_listed_as_often_as_is_said() {
        assert_eq!(parse(&[]).unwrap().period, None);
        let ten = Some(Duration::from_secs(10));
        assert_eq!(
            parse(&["--route-reconciliation-period=10s"]).unwrap().period,
            ten,
            "upstream's default, if it is given"
        );
        assert_eq!(parse(&["--route_reconciliation_period", "10s"]).unwrap().period, ten);
        let error = parse(&["--route-reconciliation-period=0s"]).unwrap_err();
        assert_eq!(error, "route-reconciliation-period must be a positive duration");
    }

    #[test]
    fn routes_are_made_unless_switched_off_within_limits() {
        let routes = parse(&[]).unwrap();
        assert!(routes.enabled && !parse(&["--configure-cloud-routes=false"]).unwrap().enabled);
        assert_eq!(routes.warm_up, Duration::from_secs(60));
        assert_eq!((routes.budget, routes.budget_window), (budgets::ROUTES.percent, budgets::ROUTES.window));
        for flag in ["--route-deletion-budget=101", "--route-deletion-budget=-1"] {
            assert!(parse(&[flag]).unwrap_err().starts_with("route-deletion-budget is a percentage"), "{flag}");
        }
    }
}
