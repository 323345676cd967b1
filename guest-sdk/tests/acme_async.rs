//! The second example, with its cloud in memory: nothing is made twice and nothing is left, whatever is lost on the way.

#[path = "../examples/acme-async/lib.rs"]
#[expect(unreachable_pub, reason = "the example is a crate of its own")]
mod acme_async;
#[path = "../examples/acme-async/cloud.rs"]
#[expect(unreachable_pub, reason = "the tests of the host serve it too")]
mod cloud;

use acme_async::AcmeAsync;
use aerostat_sdk::testing::protocol::ForeignChange;
use aerostat_sdk::testing::{self, FakeCloud, Host, SimulatedCloud};
use aerostat_sdk::{Error, Instances, LoadBalancer, LoadBalancers, Node, Progress, Provider};
use cloud::AsyncCloud;

#[test]
fn every_promise_is_kept_whatever_is_lost_on_the_way() {
    assert_eq!(testing::converge::<AcmeAsync, _>(AsyncCloud::default), [""; 0]);
}

#[test]
fn its_description_has_no_mistake_that_can_be_seen() {
    assert_eq!(testing::warnings(&Host::new().run(AcmeAsync::describe).unwrap()), [""; 0]);
}

#[test]
fn machines_are_listed_in_pages_that_the_cloud_takes() {
    let mut cloud = SimulatedCloud::new(AsyncCloud::default());
    for number in 1..=12 {
        cloud.change(&ForeignChange::AddMachine { name: format!("web-{number}") });
    }
    let host = Host::of(&cloud.shared());
    let (mut names, mut cursor) = (Vec::new(), None);
    loop {
        let page = host.run(|| AcmeAsync::list(cursor.as_deref(), 5)).unwrap();
        names.extend(page.instances.into_iter().map(|it| it.name));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((names.len(), host.requests().len()), (12, 3), "{names:?}");
    assert_eq!(host.requests()[1], "GET api /machines?page=2&page_size=5");
}

#[test]
fn the_words_of_the_cloud_are_told() {
    struct Strict(AsyncCloud);
    impl FakeCloud for Strict {
        fn answer(&mut self, request: &testing::Request, moment: testing::FakeMoment) -> testing::Response {
            match request.method {
                aerostat_sdk::Method::Post => testing::reply(
                    400,
                    r#"{ "errors": [{ "field": "label", "reason": "the plan has no balancers" }] }"#,
                ),
                _ => self.0.answer(request, moment),
            }
        }
        fn objects(&self) -> Vec<testing::protocol::CloudObject> {
            self.0.objects()
        }
        fn change(&mut self, change: &ForeignChange) -> Option<testing::protocol::Changed> {
            self.0.change(change)
        }
    }
    let cloud = SimulatedCloud::new(Strict(AsyncCloud::default())).shared();
    let host = Host::of(&cloud);
    let node = Node::named("web-1").with_provider_id("acme-async://m-1");
    let uid = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
    let mut service = LoadBalancer::of("default", "web", uid).with_node(node);
    service.memo = Some(format!("creating {} since {}", service.name, cloud.borrow().now()));
    service.extra.push(("host.new-memo".to_owned(), "true".to_owned()));
    let answer = host.run(|| AcmeAsync::ensure(&service));
    let Ok(Progress::Failed(refused)) = answer else { panic!("another answer: {answer:?}") };
    let why = "POST /balancers at endpoint api: 400 the plan has no balancers";
    assert_eq!((refused.status.memo, refused.error), (None, Error::invalid(why)));
}
