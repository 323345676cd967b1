//! Blocks that are given out, in which order, and those that stay taken.

use super::*;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn set(cluster: &str, mask: u8) -> CidrSet {
    CidrSet::new(net(cluster), mask).unwrap()
}

fn next(set: &mut CidrSet) -> String {
    set.next().unwrap().cidr.to_string()
}

/// The place of a network that is in one block.
fn index(set: &CidrSet, cidr: &str) -> u64 {
    match set.place(&net(cidr)) {
        BlockPlace::Block(index) => index,
        other => panic!("{cidr}: {other:?}"),
    }
}

fn take(set: &mut CidrSet, cidr: &str) -> bool {
    let index = index(set, cidr);
    set.take(index)
}

fn give_back(set: &mut CidrSet, cidr: &str) -> bool {
    let index = index(set, cidr);
    set.give_back(index)
}

#[test]
fn case_204_blocks_come_in_their_order() {
    let mut set = set("127.123.234.0/24", 30);
    assert_eq!(next(&mut set), "127.123.234.0/30");
    assert_eq!(next(&mut set), "127.123.234.4/30");
    assert_eq!((set.used(), set.size()), (2, 64));
}

#[test]
fn case_205_an_occupied_block_is_skipped() {
    let mut set = set("127.123.234.0/24", 30);
    assert_eq!(set.take_all(&net("127.123.234.0/26")), 16);
    let mut other = set.clone();
    assert_eq!(set.next(), Ok(GivenBlock { cidr: net("127.123.234.64/30"), index: 16, tries: 16 }));
    for last in [64, 68, 72, 80] {
        assert!(take(&mut other, &format!("127.123.234.{last}/30")));
    }
    assert_eq!(next(&mut other), "127.123.234.76/30");
}

#[test]
fn case_206_a_released_block_is_given_out_after_all_others() {
    let mut set = set("127.123.234.0/28", 30);
    for last in [0, 4, 8, 12] {
        assert_eq!(next(&mut set), format!("127.123.234.{last}/30"));
    }
    let sentence = "CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range";
    assert_eq!(set.next().unwrap_err().to_string(), sentence);
    assert!(give_back(&mut set, "127.123.234.4/30"));
    assert_eq!(next(&mut set), "127.123.234.4/30");
    assert_eq!(set.next(), Err(Exhausted));
}

#[test]
fn case_206_the_search_goes_on_where_it_ended() {
    let mut set = set("127.123.234.0/28", 30);
    next(&mut set);
    assert!(give_back(&mut set, "127.123.234.0/30"));
    assert_eq!(next(&mut set), "127.123.234.4/30", "the low block waits until the search comes round");
}

#[test]
fn case_208_a_block_lies_where_its_index_says() {
    for (cluster, mask, block) in [
        ("127.123.0.0/16", 24, "127.123.15.0/24"),
        ("2001:db8:1234::/48", 64, "2001:db8:1234:f::/64"),
        ("2001:db8:1234:ff00::/56", 72, "2001:db8:1234:ff00:f00::/72"),
    ] {
        let set = set(cluster, mask);
        assert_eq!(set.block(15), net(block), "{cluster}");
        assert_eq!(set.place(&net(block)), BlockPlace::Block(15), "{cluster}");
    }
}

#[test]
fn case_209_twice_is_once() {
    let mut set = set("10.42.0.0/16", 24);
    assert!(take(&mut set, "10.42.1.0/24"));
    assert!(!take(&mut set, "10.42.1.0/24"));
    assert_eq!(set.used(), 1);
    assert!(give_back(&mut set, "10.42.1.0/24"));
    assert!(!give_back(&mut set, "10.42.1.0/24"));
    assert_eq!(set.used(), 0);
    for outside in ["10.43.1.0/24", "10.41.255.0/24", "fd00::/64"] {
        assert_eq!(set.place(&net(outside)), BlockPlace::Outside, "{outside}");
        assert_eq!(set.take_all(&net(outside)), 0, "{outside}");
    }
}

#[test]
fn services_take_every_block_that_they_touch() {
    let mut set = set("10.42.0.0/16", 24);
    assert_eq!(set.take_all(&net("10.42.7.128/25")), 1, "smaller than a block: the one that it lies in");
    assert_eq!(set.take_all(&net("10.42.4.0/22")), 3, "of four, one was taken");
    assert_eq!(set.take_all(&net("10.0.0.0/8")), 252, "larger than the cluster: all others");
    assert_eq!(set.next(), Err(Exhausted));
}

#[test]
fn adv_154_a_network_is_in_one_block_or_in_none() {
    let set = set("10.42.0.0/16", 24);
    for (network, place) in [
        ("10.42.7.0/24", BlockPlace::Block(7)),
        ("10.42.7.128/25", BlockPlace::Block(7)),
        ("10.42.7.255/32", BlockPlace::Block(7)),
        ("10.42.6.0/23", BlockPlace::Wide),
        ("10.42.0.0/16", BlockPlace::Wide),
        ("10.0.0.0/8", BlockPlace::Wide),
        ("0.0.0.0/0", BlockPlace::Wide),
        ("::/0", BlockPlace::Outside),
    ] {
        assert_eq!(set.place(&net(network)), place, "{network}");
    }
}

#[test]
fn adv_154_blocks_in_a_wide_network_are_given_out_last() {
    let mut set = set("10.42.0.0/21", 24);
    for wide in ["10.42.0.0/23", "10.42.0.0/22", "10.42.6.0/23", "10.42.0.0/21", "0.0.0.0/0"] {
        set.widen(&net(wide));
    }
    assert_eq!(set.used(), 0);
    let order = ["10.42.4.0/24", "10.42.5.0/24", "10.42.6.0/24"];
    assert_eq!(order.map(|_| next(&mut set)), order);
    set.narrow(&net("10.42.0.0/22"));
    assert_eq!(next(&mut set), "10.42.2.0/24", "the smaller one is still there");
    set.narrow(&net("10.42.0.0/23"));
    set.narrow(&net("10.42.0.0/23"));
    let order = ["10.42.3.0/24", "10.42.0.0/24", "10.42.1.0/24", "10.42.7.0/24"];
    assert_eq!(order.map(|_| next(&mut set)), order);
    assert_eq!(set.next(), Err(Exhausted));
}

#[test]
fn the_search_finds_each_free_block_from_each_place() {
    for bits in [0, 1, 5, 6, 7, 9] {
        let mut set = set("10.0.0.0/16", 16 + bits);
        while set.next().is_ok() {}
        for index in 0..set.size() {
            set.give_back(index);
            for candidate in 0..set.size() {
                set.candidate = candidate;
                let found = set.clone().next().unwrap();
                assert_eq!(found.index, index, "from {candidate} of {}", set.size());
            }
            set.take(index);
        }
    }
}

#[test]
fn case_202_an_ipv6_cluster_has_at_most_65536_blocks() {
    assert!(CidrSet::new(net("fd00::/48"), 64).is_ok());
    let error = CidrSet::new(net("fd00::/47"), 64).unwrap_err().to_string();
    assert!(error.starts_with("New CIDR set failed; the node CIDR size is too big"), "{error}");
    assert!(CidrSet::new(net("10.0.0.0/8"), 32).is_ok());
    assert!(CidrSet::new(net("0.0.0.0/0"), 32).is_err(), "half a gigabyte");
    assert!(CidrSet::new(net("10.0.0.0/24"), 16).is_err());
    assert!(CidrSet::new(net("10.0.0.0/24"), 33).is_err());
}

#[test]
fn a_cluster_can_be_one_block() {
    for (cluster, mask) in [("10.1.2.0/24", 24), ("0.0.0.0/0", 0), ("::/0", 0), ("fd00::1/128", 128)] {
        let mut set = set(cluster, mask);
        assert_eq!(next(&mut set), cluster);
        assert_eq!(set.next(), Err(Exhausted));
    }
}
