//! Load balancers that follow one change: what they ask for alike is asked once.

use aerostat_sdk::testing::Request;

use super::*;

/// Services of one cluster, which are worked on together.
struct JointStage {
    stage: Stage,
    services: Vec<LoadBalancer>,
    /// Requests beside the questions about operations, since the last look.
    reads: Vec<String>,
    writes: Vec<String>,
}

fn line(sent: &Request) -> String {
    format!("{:?} {}", sent.method, sent.path.join("/")).to_uppercase()
}

impl JointStage {
    /// So many of each kind.
    fn new(external: usize, internal: usize) -> Self {
        let stage = Stage::new();
        let service = |number: usize| {
            let uid = format!("{number:08x}-9a5e-4a8e-8f0b-1f6d3f6f2a11");
            let mut service = stage.other(&format!("web-{number}"), &uid).service;
            if number >= external {
                let kind = ("networking.gke.io/load-balancer-type".to_owned(), "Internal".to_owned());
                service.annotations.push(kind);
            }
            service
        };
        let services = (0..external + internal).map(service).collect();
        Self { stage, services, reads: Vec::new(), writes: Vec::new() }
    }

    fn note(&mut self, host: &Host) {
        self.stage.events.extend(host.events());
        self.stage.cloud.borrow_mut().asked();
        for sent in host.sent() {
            if sent.path.iter().any(|it| it == "operations") {
                continue;
            }
            let is_write = Cloud::default().writes(&sent);
            if is_write { &mut self.writes } else { &mut self.reads }.push(line(&sent));
        }
    }

    /// Calls with all that wait until none does. Services whose step is done are not asked about again.
    fn ensured(&mut self) -> (usize, usize) {
        let mut waiting: Vec<usize> = (0..self.services.len()).collect();
        for _ in 0..MOST_CALLS {
            if waiting.is_empty() {
                return self.asked();
            }
            let nodes = self.services[0].nodes.clone();
            let places: Vec<u32> = (0..).zip(&nodes).map(|(place, _)| place).collect();
            let item = |number: &usize| {
                let load_balancer = LoadBalancer { nodes: Vec::new(), ..self.services[*number].clone() };
                BatchItem { load_balancer, nodes: places.clone() }
            };
            let items: Vec<BatchItem> = waiting.iter().map(item).collect();
            let host = self.stage.host();
            let answers = host.run(|| Gcp::ensure_batch(&items, &nodes));
            self.note(&host);
            assert_eq!(answers.len(), items.len());
            let mut left = Vec::new();
            for (number, answer) in waiting.into_iter().zip(answers) {
                let service = self.services[number].clone();
                self.services[number] = match answer.unwrap() {
                    Progress::Ready(status) => service.after(status),
                    Progress::Pending(it) => {
                        left.push(number);
                        service.after(it.status)
                    }
                    other => panic!("{other:?}"),
                };
            }
            waiting = left;
            self.stage.pause(1_000);
        }
        panic!("it does not end: {:?}", self.writes)
    }

    fn deleted(&mut self) -> (usize, usize) {
        let mut waiting: Vec<LoadBalancer> = std::mem::take(&mut self.services);
        for _ in 0..MOST_CALLS {
            if waiting.is_empty() {
                return self.asked();
            }
            let host = self.stage.host();
            let answers = host.run(|| Gcp::delete_batch(&waiting));
            self.note(&host);
            let mut left = Vec::new();
            for (service, answer) in waiting.into_iter().zip(answers) {
                match answer.unwrap() {
                    Deletion::Done => {}
                    Deletion::Pending(it) => left.push(service.after(it.status)),
                    Deletion::Kept(why) => panic!("{why}"),
                }
            }
            waiting = left;
            self.stage.pause(1_000);
        }
        panic!("it does not end: {:?}", self.writes)
    }

    /// How many reads and writes there were.
    fn asked(&mut self) -> (usize, usize) {
        (std::mem::take(&mut self.reads).len(), std::mem::take(&mut self.writes).len())
    }

    /// All Services see these nodes alone.
    fn with_nodes(&mut self, numbers: &[usize]) {
        let nodes: Vec<Node> = numbers.iter().map(|it| node(*it)).collect();
        self.services.iter_mut().for_each(|it| it.nodes.clone_from(&nodes));
    }
}

#[test]
fn external_ones_made_at_once_share_their_reads() {
    let mut together = JointStage::new(5, 0);
    let (reads, writes) = together.ensured();
    // A check with its firewall; of each a pool, a rule and a firewall. The vendor: 54 + 27.
    assert_eq!(writes, 2 + 5 * 3);
    assert!(reads <= 20, "{reads}");
    assert_eq!(together.ensured(), (5, 0), "a list of each kind, the check and its firewall");
}

#[test]
fn internal_ones_made_at_once_share_their_reads() {
    let mut together = JointStage::new(0, 5);
    let (reads, writes) = together.ensured();
    // A check with its firewall, two groups and their machines; of each a backend service, a rule and a firewall. The vendor: 66 + 31.
    assert_eq!(writes, 2 + 2 * 2 + 5 * 3);
    assert!(reads <= 35, "{reads}");
}

#[test]
fn nodes_that_leave_are_taken_out_of_groups_once() {
    let mut together = JointStage::new(5, 5);
    together.with_nodes(&[1, 2, 3]);
    together.ensured();
    together.with_nodes(&[1, 2]);
    let (reads, writes) = together.ensured();
    // One write for each pool, and one for the zone's group. The vendor: 30 + 10.
    assert_eq!(writes, 5 + 1, "{:?}", together.writes);
    assert!(reads <= 30, "{reads}");
}

#[test]
fn load_balancers_that_go_together_leave_nothing() {
    let mut together = JointStage::new(3, 3);
    together.ensured();
    let (_, writes) = together.deleted();
    // Three of each kind; two checks with firewalls, two groups.
    assert_eq!(writes, 6 * 3 + 2 * 2 + 2);
    assert_eq!(together.stage.left(), [""; 0]);
}

#[test]
fn a_list_that_lacks_something_makes_nothing_twice() {
    let mut together = JointStage::new(3, 0);
    together.ensured();
    let rules = |it: &JointStage| it.stage.left().iter().filter(|it| it.starts_with("forwardingRules")).count();
    assert_eq!(rules(&together), 3);
    together.stage.change(|cloud| cloud.lists_lack = Some("forwardingRules"));
    let nodes = together.services[0].nodes.clone();
    let item = |it: &LoadBalancer| BatchItem::alone(it.clone()).0;
    let items: Vec<BatchItem> = together.services.iter().map(item).collect();
    let host = together.stage.host();
    let answers = host.run(|| Gcp::ensure_batch(&items, &nodes));
    assert!(answers.iter().all(|it| matches!(it, Ok(Progress::Pending(_)))), "{answers:?}");
    together.stage.change(|cloud| cloud.lists_lack = None);
    assert_eq!((together.ensured().1, rules(&together)), (0, 3));
}

#[test]
fn lists_that_are_forbidden_are_reads_of_each() {
    let mut together = JointStage::new(3, 0);
    together.stage.change(|cloud| cloud.forbids_lists = true);
    let (_, writes) = together.ensured();
    assert_eq!(writes, 2 + 3 * 3);
}

#[test]
fn warnings_of_a_call_name_their_services() {
    let mut together = JointStage::new(2, 0);
    together.services.iter_mut().for_each(|it| it.nodes.push(Node::named("joining")));
    together.ensured();
    let about: Vec<_> = together.stage.events.iter().filter_map(|it| it.about.clone()).collect();
    for service in &together.services {
        assert!(about.contains(&service.owner.uid), "{about:?}");
    }
}
