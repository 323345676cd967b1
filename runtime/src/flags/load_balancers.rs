//! Flags about load balancers beyond what Services ask for.

use std::time::Duration;

use clap::{ArgAction, Args};
use controllers::is_label_key;

use super::values;

const LOAD_BALANCERS: &str = "Load balancers";

/// The flags.
#[derive(Args, Debug)]
pub(super) struct Flags {
    /// How often all load balancers are listed, to put right what was changed in the cloud. Only where the provider can list
    /// them
    #[arg(long, help_heading = LOAD_BALANCERS, value_name = "DURATION", default_value = "5m0s",
          value_parser = values::duration, allow_hyphen_values = true)]
    load_balancer_resync_period: Duration,
    /// Delete load balancers that are proven to be this cluster's and whose Service has not existed for an hour. Without it they
    /// are told of
    #[arg(long, help_heading = LOAD_BALANCERS, default_value = "false", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = values::boolean,
          value_name = "true|false")]
    delete_orphaned_load_balancers: bool,
    /// The spec.loadBalancerClass of Services that get a load balancer beside those without a class. Services of other
    /// classes are other controllers'
    #[arg(long, help_heading = LOAD_BALANCERS, value_name = "CLASS")]
    load_balancer_class: Option<String>,
}

/// How load balancers are looked after beyond what Services ask for.
#[derive(Clone, Debug)]
pub struct LoadBalancerFlags {
    /// `--load-balancer-resync-period`: a second or more.
    pub resync_period: Duration,
    /// `--delete-orphaned-load-balancers`.
    pub delete_orphans: bool,
    /// `--load-balancer-class`: a class as Kubernetes allows it.
    pub class: Option<String>,
}

/// Checks what clap cannot.
pub(super) fn check(flags: &Flags, errors: &mut Vec<String>) -> LoadBalancerFlags {
    if flags.load_balancer_resync_period < Duration::from_secs(1) {
        errors.push("load-balancer-resync-period must be at least 1s".to_owned());
    }
    let class = flags.load_balancer_class.clone();
    if let Some(class) = class.as_deref().filter(|it| !is_label_key(it)) {
        errors.push(format!(
            "load-balancer-class {class:?} is no class that Kubernetes allows; give a name such as example.com/aerostat"
        ));
    }
    LoadBalancerFlags {
        resync_period: flags.load_balancer_resync_period,
        delete_orphans: flags.delete_orphaned_load_balancers,
        class,
    }
}
