//! The writes of the vendor's own manager, and ours for the same.

use super::*;
use crate::tests::recorded::{Written, ours, recorded as written, recorded_service};

fn recorded(file: &str) -> Written {
    written(file, &["slb"])
}

fn played() -> Played<FakeSlb> {
    let played = Played::new(FakeSlb::default());
    let host = played.host.clone().setting("vswitches", "vsw-b");
    Played { host, ..played }
}

#[test]
fn writes_are_those_of_the_vendors_manager() {
    let played = played();
    let mut web = recorded_service("web", Port::new(Protocol::Tcp, 80, 30_080));
    assert_eq!(ours(&played.settle(&mut web)), recorded("04-clb-create"));
    web.ports.push(Port::new(Protocol::Tcp, 443, 30_443));
    assert_eq!(ours(&played.settle(&mut web)), recorded("06-clb-port-added"));
    web.ports.pop();
    assert_eq!(ours(&played.settle(&mut web)), recorded("16-clb-port-removed"));
    web = web.with_annotation(format!("{PREFIX}protocol-port"), "http:80");
    assert_eq!(ours(&played.settle(&mut web)), recorded("17-clb-protocol-http"));
    let before = played.host.sent().len();
    assert_eq!(played.host.run(|| Alibaba::delete(&web)), Ok(Deletion::Done));
    assert_eq!(ours(&played.host.sent()[before..]), recorded("18-clb-delete"));
}

#[test]
fn creations_are_those_of_the_vendors_manager() {
    let mut intra = recorded_service("intra", Port::new(Protocol::Tcp, 80, 30_082));
    intra = intra.with_annotation(format!("{PREFIX}address-type"), "intranet");
    assert_eq!(ours(&played().settle(&mut intra)), recorded("19-clb-intranet"));
    let mut dns = recorded_service("dns", Port::new(Protocol::Udp, 53, 30_053));
    assert_eq!(ours(&played().settle(&mut dns)), recorded("20-clb-udp"));
}

#[test]
fn load_balancers_of_the_vendors_manager_are_taken_over() {
    let played = played();
    let mut web = recorded_service("web", Port::new(Protocol::Tcp, 80, 30_080));
    played.settle(&mut web);
    let tags = balancer(&played)["Tags"].as_array().unwrap()[..2].to_vec();
    assert_eq!(
        tags.iter().map(|it| it["TagKey"].as_str().unwrap()).collect::<Vec<_>>(),
        ["kubernetes.do.not.delete", "ack.aliyun.com"]
    );
    played.cloud.borrow_mut().cloud().balancers.get_mut("lb-1").unwrap().body["Tags"] = tags.into();
    web.memo = None;
    web.extra.clear();
    assert_eq!(ours(&played.settle(&mut web)), Written::new());
    assert_eq!(web.memo.as_deref(), Some("lb-1"));
}
