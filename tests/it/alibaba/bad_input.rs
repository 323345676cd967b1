//! Annotations, names and settings that are wrong, and an account with too many requests, through wasm, gate and signature.

use cloud_provider::{Error, Progress};
use tests::clouds::alibaba::{Fault, Options};
use tests::vendor::{AlibabaCloud, Service, Vendor as _, node};
use tests::wait;

use crate::life::Life;
use crate::setup::Rig;

#[tokio::test]
async fn annotations_with_refused_values_write_nothing() {
    let rig = Rig::instant().await;
    let (name, longer, domain) = ("n".repeat(81), "n".repeat(129), format!("{}:cert-1", "d".repeat(256)));
    let classic = [
        ("bandwidth", "abc"),
        ("protocol-port", "http:81"),
        ("protocol-port", "https:80"),
        ("scheduler", "best"),
        ("default-weight", "101"),
        ("ip-version", "DualStack"),
        ("health-check-interval", "0"),
        ("health-check-uri", "healthz"),
        ("established-timeout", "901"),
        ("additional-resource-tags", "ack.aliyun.com=c2"),
        ("additional-resource-tags", "aerostat.dev/service-uid=another"),
        ("cookie", "a; Secure"),
        ("sticky-session", "on"),
        ("name", "../another"),
        ("network-type", "classic"),
        ("external-ip-type", "ip"),
        ("id", "lb-1&Action=DeleteLoadBalancer"),
        ("vgroup-port", "rsp-1:80"),
        ("backend-ip-version", "ipv6"),
        ("name", &*name),
        ("domain-extensions", &*domain),
        ("vswitch-id", "vsw-b&Action=DeleteLoadBalancer"),
    ];
    let network = [
        ("name", &*longer),
        ("zone-maps", "cn-hangzhou-b"),
        ("zone-maps", "cn-hangzhou-b:vsw-b,cn-hangzhou-g:../x"),
        ("listener-port-range", "1000-2000:80"),
        ("security-group-ids", "*"),
        ("cps", "-1"),
        ("ppv2-pvl-ep-id-enabled", "yes"),
        ("server-group-type", "ip"),
        ("bandwidth-package-id", "cbwp-1&Action=DeleteLoadBalancer"),
        ("ipv6-address-type", "both"),
    ];
    // Some are read only beside others.
    let http = ["cookie", "sticky-session"].map(|it| (it, "protocol-port", "http:80"));
    let beside = [http[0], http[1], ("vswitch-id", "address-type", "intranet")];
    let begun = rig.cloud.requests().len();
    let rows = classic.map(|it| (false, it)).into_iter().chain(network.map(|it| (true, it)));
    for (is_network, (name, value)) in rows {
        let mut life = if is_network { Life::network(&rig) } else { Life::new(&rig) };
        for (_, key, needed) in beside.iter().filter(|it| it.0 == name) {
            life.service.set(key, needed);
        }
        life.service.set(name, value);
        let refused = match life.service.ask().await.answer {
            // Nothing was made: it is looked for first.
            Ok(Progress::Pending(_)) => life.service.ask().await.answer,
            refused => refused,
        };
        let is_told = |why: &str| why.contains("annotation") && why.contains(AlibabaCloud::PREFIX);
        let is_refused = match &refused {
            Err(Error::Invalid(why)) | Ok(Progress::Failed(_, Error::Invalid(why))) => is_told(why),
            _ => false,
        };
        assert!(is_refused, "{name} {value}: {refused:?}");
    }
    assert_eq!(rig.writes_since(begun), [""; 0]);
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn the_longest_names_are_served() {
    let rig = Rig::instant().await;
    let (name, namespace) = ("w".repeat(63), "n".repeat(63));
    for mut life in [Life::new(&rig), Life::network(&rig)] {
        life.service.desired.owner.name.clone_from(&name);
        life.service.desired.owner.namespace = namespace.clone();
        life.settle().await;
        assert_eq!(life.settle().await, [""; 0]);
        let built = AlibabaCloud::built(rig.cloud.account());
        assert!(built[0].serves && built[0].machines == [1, 2], "{built:?}");
        life.service.gone().await;
        assert_eq!(AlibabaCloud::leftovers(rig.cloud.account()), [""; 0]);
    }
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn a_wrong_region_is_told_and_asks_nothing_elsewhere() {
    let rig = Rig::set(Options::instant(), &[("region", "cn-beijing")]).await;
    let id = AlibabaCloud::worker(1).provider_id.unwrap();
    let reply = rig.ask(node("web-1", &id)).await;
    let why = reply.answer.unwrap_err().to_string();
    assert!(why.contains("cn-beijing") || why.contains("RegionId"), "{why}");
    let mut service = Service::new(&rig);
    assert!(service.ask().await.answer.is_err());
    assert_eq!(rig.cloud.requests().iter().filter(|it| it.to_string().contains("cn-beijing")).count(), 0);
}

/// The cloud does not say for how long: the endpoint rests for five seconds.
#[tokio::test]
async fn a_throttled_account_loses_and_repeats_nothing() {
    let rig = Rig::instant().await;
    for (path, mut life) in [("/slb/CreateLoadBalancer", Life::new(&rig)), ("/nlb/CreateListener", Life::network(&rig))]
    {
        rig.cloud.inject(Fault::status("POST", path, 429).times(1));
        let begun = rig.cloud.requests().len();
        let mut rests = 0;
        wait::until("it is served", async || match life.service.ask().await.answer {
            Ok(Progress::Ready(_)) => Some(()),
            Err(Error::RetryAfter { .. }) | Ok(Progress::Failed(_, Error::RetryAfter { .. })) => {
                rests += 1;
                None
            }
            Ok(Progress::Pending(_)) => None,
            other => panic!("another answer: {other:?}"),
        })
        .await;
        assert!(rests > 0);
        let asked = rig.cloud.requests_from(begun);
        let at = asked.iter().position(|it| it.fault.is_some()).unwrap();
        let product = path.split('/').nth(1).unwrap();
        let next = asked[at + 1..].iter().find(|it| it.path.contains(product)).unwrap();
        let pause = next.at.duration_since(asked[at].at).unwrap();
        assert!(pause.as_secs() >= 4, "{pause:?} until {next}");
        for action in ["CreateLoadBalancer → 200", "Listener → 200"] {
            let done = rig.writes_since(begun);
            let made = done.iter().filter(|it| it.contains("/Create") && it.ends_with(action)).count();
            assert_eq!(made, 1, "{action}: {done:?}");
        }
        life.service.gone().await;
        assert_eq!(AlibabaCloud::built(rig.cloud.account()), []);
    }
    rig.cloud.assert_valid();
}
