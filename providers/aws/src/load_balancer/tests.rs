//! Which kind of load balancer a call is about, and what annotations refuse.

mod allowed;
mod annotations;

use aerostat_sdk::{Deletion, Error, Ingress, LoadBalancer, LoadBalancers, Progress};

use super::annotations::TYPE;
use crate::Aws;
use crate::tests::settings;

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

fn service(kind: &str) -> LoadBalancer {
    LoadBalancer::of("default", "web", UID).with_annotation(TYPE.name, kind)
}

#[test]
fn aws_030_a_change_of_type_is_refused() {
    let classic = Ingress::hostname("a0e2-1.us-east-1.elb.amazonaws.com");
    let network = Ingress::hostname("a0e2-1.elb.us-east-1.amazonaws.com");
    let arn =
        "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1/50dc";
    let memo = |memo: &str, kind| LoadBalancer { memo: Some(memo.to_owned()), ..service(kind) };
    for (service, is) in [
        (LoadBalancer { current_ingress: vec![classic], ..service("nlb") }, "Classic"),
        (LoadBalancer { current_ingress: vec![network], ..service("") }, "Network"),
        (memo(arn, ""), "Network"),
        (memo("a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1", "nlb"), "Classic"),
    ] {
        let refused = settings().run(|| Aws::ensure(&service));
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains("cannot change type") && why.contains(is)),
            "{refused:?}"
        );
    }
}

#[test]
fn a_memo_of_another_load_balancer_is_refused() {
    let other = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/aother/50dc";
    for memo in [other, "aother", "", "arn:aws:ec2:us-east-1:1:x/y"] {
        let service = LoadBalancer { memo: Some(memo.to_owned()), ..service("nlb") };
        assert!(matches!(settings().run(|| Aws::ensure(&service)), Err(Error::Invalid(_))), "{memo}");
        assert!(matches!(settings().run(|| Aws::delete(&service)), Err(Error::Invalid(_))), "{memo}");
    }
}

#[test]
fn aws_045_external_is_left_to_another_controller() {
    for kind in ["external", "nlb-ip"] {
        assert_eq!(settings().run(|| Aws::ensure(&service(kind))), Ok(Progress::NotManaged));
        assert_eq!(settings().run(|| Aws::delete(&service(kind))), Ok(Deletion::Done));
    }
}
