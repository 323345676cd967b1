//! Blocks of nodes, and their state after a write whose answer was lost.

use serde_json::json;

use super::*;
use crate::node_ipam::allocations::WhyNoBlock;
use crate::node_ipam::cidr_set::CidrSet;

fn allocations(clusters: &[(&str, u8)], services: &[&str]) -> Allocations {
    let sets = clusters.iter().map(|(cluster, mask)| CidrSet::new(cluster.parse().unwrap(), *mask).unwrap());
    Allocations::new(sets.collect(), nets(services))
}

/// Four blocks.
fn small() -> Allocations {
    allocations(&[("10.0.0.0/28", 30)], &[])
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|it| it.parse().unwrap()).collect()
}

/// A node whose UID is its name, with these networks.
fn node(name: &str, cidrs: &[&str]) -> KubeNode {
    let spec = if cidrs.is_empty() { json!({}) } else { json!({ "podCIDR": cidrs[0], "podCIDRs": cidrs }) };
    serde_json::from_value(json!({ "metadata": { "name": name, "uid": name }, "spec": spec })).unwrap()
}

fn leaving(mut node: KubeNode) -> KubeNode {
    node.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap();
    node
}

fn given(allocations: &mut Allocations, name: &str) -> Vec<IpNet> {
    match decide(&node(name, &[]), allocations) {
        Ok(Decision::Write(cidrs)) => cidrs,
        other => panic!("{name}: {other:?}"),
    }
}

fn used(allocations: &mut Allocations) -> Vec<u64> {
    allocations.usage().into_iter().map(|it| it.used).collect()
}

#[test]
fn case_202_families_come_in_the_order_of_the_clusters() {
    let (v4, v6) = (("10.0.0.0/16", 25), ("fd00::/56", 72));
    assert_eq!(given(&mut allocations(&[v4, v6], &[]), "a"), nets(&["10.0.0.0/25", "fd00::/72"]));
    assert_eq!(given(&mut allocations(&[v6, v4], &[]), "a"), nets(&["fd00::/72", "10.0.0.0/25"]));
}

#[test]
fn case_205_services_are_left_out() {
    let mut it = allocations(&[("127.123.234.0/24", 30)], &["127.123.234.0/26", "192.168.0.0/24", "fd00::/64"]);
    assert_eq!(given(&mut it, "a"), nets(&["127.123.234.64/30"]));
}

#[test]
fn all_families_or_none_are_given() {
    let mut it = allocations(&[("10.0.0.0/16", 24), ("fd00::/63", 64)], &[]);
    given(&mut it, "a");
    given(&mut it, "b");
    for _ in 0..3 {
        let error = decide(&node("c", &[]), &mut it).unwrap_err();
        assert!(error.to_string().starts_with("failed to allocate cidr from cluster cidr at idx:1"), "{error}");
        assert_eq!(used(&mut it), [2, 2], "the block of the first family was given back");
    }
}

#[test]
fn case_206_a_node_gets_what_another_left() {
    let mut it = small();
    for name in ["a", "b", "c", "d"] {
        given(&mut it, name);
        assert!(!settle(&mut it, name, WriteOutcome::Yes));
    }
    assert!(matches!(decide(&node("e", &[]), &mut it), Err(Error::Exhausted { index: 0, .. })));
    it.release("b");
    assert_eq!(given(&mut it, "e"), nets(&["10.0.0.4/30"]));
}

#[test]
fn case_210_a_nodes_block_is_never_given_to_another() {
    let mut it = small();
    assert_eq!(decide(&node("a", &["10.0.0.0/30"]), &mut it), Ok(Decision::Nothing));
    assert_eq!(given(&mut it, "b"), nets(&["10.0.0.4/30"]));
}

#[test]
fn case_210_garbage_is_an_error() {
    for (cidrs, part) in [
        (vec!["nonsense"], "failed to parse node a, CIDR \"nonsense\""),
        (vec!["10.9.0.0/24"], "cidr 10.9.0.0/24 is out the range of cluster cidr 10.0.0.0/28"),
        (
            vec!["10.0.0.0/30", "fd00::/64"],
            "node:a has an allocated cidr: fd00::/64 at index:1 that does not exist in cluster cidrs configuration",
        ),
    ] {
        let error = decide(&node("a", &cidrs), &mut small()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_node_with_one_readable_network_keeps_it() {
    let mut it = small();
    decide(&node("a", &["10.0.0.0/30", "nonsense"]), &mut it).unwrap_err();
    assert_eq!(given(&mut it, "b"), nets(&["10.0.0.4/30"]));
}

#[test]
fn case_212_others_networks_free_what_was_set_aside() {
    let mut it = small();
    given(&mut it, "a");
    assert_eq!(decide(&node("a", &["10.0.0.12/30"]), &mut it), Ok(Decision::Nothing));
    assert_eq!(used(&mut it), [1]);
    assert_eq!(decide(&node("a", &["10.0.0.12/30"]), &mut it), Ok(Decision::Nothing), "again changes nothing");
    assert_eq!(used(&mut it), [1]);
}

#[test]
fn case_213_a_refusal_gives_the_block_back() {
    let mut it = small();
    given(&mut it, "a");
    assert!(!settle(&mut it, "a", WriteOutcome::No));
    assert_eq!(used(&mut it), [0]);
}

#[test]
fn a_written_network_waits_for_the_watch() {
    let mut it = small();
    given(&mut it, "a");
    assert!(!settle(&mut it, "a", WriteOutcome::Yes));
    assert_eq!(decide(&node("a", &[]), &mut it), Ok(Decision::Nothing), "it is not written twice");
    assert_eq!(used(&mut it), [1]);
}

#[test]
fn a_node_that_leaves_gives_back_what_was_set_aside() {
    let mut it = small();
    given(&mut it, "a");
    assert_eq!(decide(&leaving(node("a", &[])), &mut it), Ok(Decision::Nothing), "nothing is written any more");
    assert_eq!(used(&mut it), [0]);
}

#[test]
fn case_214_a_node_that_leaves_keeps_its_network() {
    let mut it = small();
    decide(&leaving(node("a", &["10.0.0.0/30"])), &mut it).unwrap();
    assert_eq!(used(&mut it), [1]);
    assert_eq!(decide(&leaving(node("b", &[])), &mut it), Ok(Decision::Nothing), "and gets none any more");
    it.release("a");
    it.release("a");
    assert_eq!(used(&mut it), [0]);
}

#[test]
fn case_220_a_lost_answer_keeps_the_block_until_a_read() {
    let mut it = small();
    let cidrs = given(&mut it, "a");
    assert!(settle(&mut it, "a", WriteOutcome::Perhaps));
    assert_eq!(decide(&node("a", &[]), &mut it), Ok(Decision::Read(cidrs.clone())), "the watch proves nothing");
    assert!(settle(&mut it, "a", WriteOutcome::No), "a later refusal says nothing about the earlier write");
    assert_eq!(used(&mut it), [1]);
    // Not there yet: the same blocks again.
    assert_eq!(reread(&mut it, "a", Some(&node("a", &[]))), Ok(Decision::Write(cidrs)));
    // There it is.
    assert_eq!(reread(&mut it, "a", Some(&node("a", &["10.0.0.0/30"]))), Ok(Decision::Nothing));
    assert_eq!(it.of("a").unwrap().state, BlockState::Stored);
    assert_eq!(decide(&node("a", &[]), &mut it), Ok(Decision::Nothing), "what the watch does not show yet is known");
}

#[test]
fn case_220_other_networks_or_another_node_end_the_doubt() {
    let other = {
        let mut other = node("a", &[]);
        other.metadata.uid = Some("another".into());
        other
    };
    for (live, expected) in [(None, 0), (Some(other), 0), (Some(node("a", &["10.0.0.12/30"])), 1)] {
        let mut it = small();
        given(&mut it, "a");
        settle(&mut it, "a", WriteOutcome::Perhaps);
        assert_eq!(reread(&mut it, "a", live.as_ref()), Ok(Decision::Nothing));
        assert_eq!(used(&mut it), [expected]);
        assert_eq!(given(&mut it, "b"), nets(&["10.0.0.4/30"]));
    }
}

#[test]
fn case_221_a_node_that_is_gone_returns_its_block_once() {
    let mut it = small();
    given(&mut it, "a");
    it.release("a");
    let cidrs = given(&mut it, "b");
    // The answer to the write comes late.
    assert!(!settle(&mut it, "a", WriteOutcome::No));
    assert!(!settle(&mut it, "a", WriteOutcome::Yes));
    assert_eq!(it.of("b").unwrap().cidrs, cidrs);
    assert_eq!(used(&mut it), [1]);
}

#[test]
fn a_network_of_two_nodes_is_free_once_both_are_gone() {
    let mut it = allocations(&[("10.0.0.0/28", 30)], &["10.0.0.8/30"]);
    assert_eq!(store(&node("a", &["10.0.0.4/30"]), &mut it), Ok(()));
    for (name, other) in [("b", "a"), ("b", "a"), ("a", "b")] {
        let why = store(&node(name, &["10.0.0.4/30"]), &mut it).unwrap_err().why;
        assert_eq!(why, Some(WhyNoBlock::Shared(other.to_owned())), "{name}");
    }
    it.release("a");
    assert_eq!(used(&mut it), [2]);
    it.release("b");
    let services = WhyNoBlock::Services(nets(&["10.0.0.8/30"])[0]);
    assert_eq!(store(&node("c", &["10.0.0.8/31"]), &mut it).unwrap_err().why, Some(services));
    it.release("c");
    assert_eq!(used(&mut it), [1], "what Services have stays theirs");
}

#[test]
fn case_217_each_block_is_counted_once() {
    let mut it = allocations(&[("10.0.0.0/16", 24)], &[]);
    for name in ["a", "b"] {
        given(&mut it, name);
        settle(&mut it, name, WriteOutcome::Yes);
        store(&node(name, &[if name == "a" { "10.0.0.0/24" } else { "10.0.1.0/24" }]), &mut it).unwrap();
    }
    let [usage] = <[_; 1]>::try_from(it.usage()).unwrap();
    assert_eq!((usage.used, usage.size), (2, 256));
    assert_eq!((usage.count.taken, usage.count.released, usage.count.tries), (2, 0, vec![0, 0]));
    assert_eq!(it.usage()[0].count.taken, 0, "it is said once");
}

#[test]
fn adv_154_a_made_up_network_takes_one_block_at_most() {
    let cluster = nets(&["10.0.0.0/28"])[0];
    for (network, why, blocks) in [
        ("0.0.0.0/0", WhyNoBlock::Wide(cluster, 30), 0),
        ("10.0.0.0/8", WhyNoBlock::Wide(cluster, 30), 0),
        ("10.0.0.0/28", WhyNoBlock::Wide(cluster, 30), 0),
        ("10.0.0.0/29", WhyNoBlock::Wide(cluster, 30), 0),
        ("10.9.0.0/24", WhyNoBlock::Outside(cluster), 0),
        ("::/0", WhyNoBlock::Outside(cluster), 0),
        ("10.0.0.0/30", WhyNoBlock::Shared("good".to_owned()), 1),
        ("10.0.0.3/32", WhyNoBlock::Shared("good".to_owned()), 1),
    ] {
        let mut it = small();
        assert_eq!(store(&node("good", &["10.0.0.0/30"]), &mut it), Ok(()));
        assert_eq!(store(&node("evil", &[network]), &mut it).unwrap_err().why, Some(why), "{network}");
        assert_eq!(used(&mut it), [1], "{network}");
        // The others get all that is left, and the first one's block stays its own.
        for name in ["b", "c", "d"] {
            assert_ne!(given(&mut it, name), nets(&["10.0.0.0/30"]), "{network}");
        }
        it.release("evil");
        assert_eq!(used(&mut it), [4], "{network}");
        it.release("good");
        store(&node("evil", &[network]), &mut it).ok();
        assert_eq!(used(&mut it), [3 + blocks], "{network}");
        it.release("evil");
        assert_eq!(used(&mut it), [3], "{network}");
    }
}

#[test]
fn adv_154_smaller_parts_are_not_cut_from_living_nodes() {
    // All sixteen nodes have their network from before --node-cidr-mask-size was changed.
    let mut it = allocations(&[("10.0.0.0/20", 25)], &[]);
    for nth in 0..16 {
        decide(&node(&format!("old-{nth}"), &[&format!("10.0.{nth}.0/24")]), &mut it).unwrap_err();
    }
    assert!(matches!(decide(&node("new", &[]), &mut it), Err(Error::Exhausted { .. })));
    // A kubelet that claims it all, or half, changes nothing.
    for (name, wide) in [("evil-1", "0.0.0.0/0"), ("evil-2", "10.0.0.0/21")] {
        decide(&node(name, &[wide]), &mut it).unwrap_err();
    }
    it.release("old-3");
    assert_eq!(given(&mut it, "new"), nets(&["10.0.3.0/25"]));
    assert_eq!(given(&mut it, "newer"), nets(&["10.0.3.128/25"]));
    assert!(matches!(decide(&node("newest", &[]), &mut it), Err(Error::Exhausted { .. })));
}

#[test]
fn adv_154_two_parts_of_one_block_keep_it() {
    let mut it = allocations(&[("10.0.0.0/28", 30)], &[]);
    for (name, network) in [("a", "10.0.0.0/31"), ("b", "10.0.0.2/31")] {
        assert_eq!(store(&node(name, &[network]), &mut it), Ok(()), "they have nothing in common");
    }
    it.release("a");
    assert_eq!(given(&mut it, "c"), nets(&["10.0.0.4/30"]));
    assert_eq!(used(&mut it), [2]);
}

#[test]
fn families_in_another_order_keep_their_blocks() {
    let mut it = allocations(&[("10.0.0.0/16", 24), ("fd00::/56", 64)], &[]);
    assert_eq!(store(&node("a", &["fd00::/64", "10.0.0.0/24"]), &mut it), Ok(()));
    assert_eq!(given(&mut it, "b"), nets(&["10.0.1.0/24", "fd00:0:0:1::/64"]));
    it.release("a");
    assert_eq!(used(&mut it), [1, 1]);
}

/// The cost of a Node does not grow with the network that its kubelet has made up, nor with the nodes beside it.
#[test]
fn adv_154_a_wide_network_costs_as_little_as_a_block() {
    let mut it = allocations(&[("10.0.0.0/8", 24), ("fd00::/48", 64)], &["10.96.0.0/12"]);
    for nth in 0..5000 {
        given(&mut it, &format!("good-{nth}"));
    }
    // CPU time: whatever else runs on the machine does not count.
    let spent = measured_work::cost(|| {
        for _ in 0..1000 {
            store(&node("evil", &["0.0.0.0/0", "::/0"]), &mut it).unwrap_err();
            given(&mut it, "joins");
            it.release("evil");
            it.release("joins");
            store(&node("evil", &["10.128.0.0/9", "fd00:0:0:8000::/49"]), &mut it).unwrap_err();
            given(&mut it, "joins");
            it.release("evil");
            it.release("joins");
        }
    })
    .time;
    println!("2,000 nodes that come and go take {spent:?}");
    assert!(spent < std::time::Duration::from_secs(2), "{spent:?}");
    assert_eq!(used(&mut it), [5000 + 4096, 5000]);
}

#[test]
fn the_networks_of_a_node_are_its_list_or_else_its_one() {
    let of = |spec: serde_json::Value| {
        let node = serde_json::from_value(json!({ "metadata": {}, "spec": spec })).unwrap();
        networks(&node).map(str::to_owned).collect::<Vec<_>>()
    };
    let (one, other) = ("10.0.0.0/30", "fd00::/64");
    assert_eq!(of(json!({ "podCIDR": one })), [one]);
    assert_eq!(of(json!({ "podCIDR": "", "podCIDRs": [] })), [""; 0]);
    assert_eq!(of(json!({ "podCIDR": other, "podCIDRs": [one, other] })), [one, other], "each once");
}
