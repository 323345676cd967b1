//! A call may be lost after any of its requests: nothing is made twice, nothing is left over, and traffic always has a
//! target group.

use aerostat_sdk::LoadBalancer;

use super::*;

/// The numbers of things that there are.
fn count(cloud: &Cloud) -> (usize, usize, usize, usize) {
    let state = cloud.0.borrow();
    (state.balancers.len(), state.listeners.len(), state.groups.len(), state.ec2.groups.len())
}

/// Lets each of the first 60 requests be the last of its call, and goes on without a memo of it.
fn interrupted(service: &LoadBalancer, prepare: impl Fn(&Cloud), expected: (usize, usize, usize, usize)) {
    let mut reached = 0;
    for lost_at in 1..60 {
        let cloud = Cloud::default();
        prepare(&cloud);
        let host = || cloud.host().setting("loadBalancers.nlbSecurityGroupMode", "Managed");
        cloud.interrupt(lost_at);
        let first = ensure(&host(), service);
        reached += usize::from(!matches!(first, Ok(Progress::Ready(_))));
        cloud.interrupt(0);
        let answer = ensure(&host(), service);
        assert!(matches!(answer, Ok(Progress::Ready(_))), "{lost_at}: {answer:?}");
        assert_eq!(count(&cloud), expected, "{lost_at}");
        let last = host();
        assert!(matches!(ensure(&last, service), Ok(Progress::Ready(_))));
        assert_eq!(written(&last), [""; 0], "{lost_at}");
        cloud.interrupt(lost_at % 15 + 1);
        _ = delete(&host(), service);
        cloud.interrupt(0);
        assert_eq!(delete(&host(), service), Ok(Deletion::Done), "{lost_at}");
        assert_eq!(count(&cloud), (0, 0, 0, 1), "{lost_at}");
    }
    assert!(reached > 10, "{reached}");
}

#[test]
fn a_lost_creation_is_gone_on_with() {
    let two = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    interrupted(&two, |_| (), (1, 2, 2, 2));
}

#[test]
fn a_lost_change_is_gone_on_with() {
    let before = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let after = annotated(service().with_port(Port::new(Protocol::Tcp, 444, 30_443)), "healthcheck-interval", "10");
    let prepare = |cloud: &Cloud| {
        let host = cloud.host().setting("loadBalancers.nlbSecurityGroupMode", "Managed");
        assert!(matches!(ensure(&host, &before), Ok(Progress::Ready(_))));
    };
    interrupted(&after, prepare, (1, 2, 2, 2));
}
