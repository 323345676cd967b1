//! What is given out, in which order, and what stays taken.

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

fn release(set: &mut CidrSet, cidr: &str) -> u64 {
    set.release(&net(cidr), |_| false).unwrap()
}

#[test]
fn case_204_blocks_come_in_their_order() {
    let mut set = set("127.123.234.0/24", 30);
    assert_eq!(next(&mut set), "127.123.234.0/30");
    assert_eq!(next(&mut set), "127.123.234.4/30");
    assert_eq!((set.used(), set.size()), (2, 64));
}

#[test]
fn case_205_what_is_occupied_is_skipped() {
    let mut set = set("127.123.234.0/24", 30);
    assert_eq!(set.occupy(&net("127.123.234.0/26")), Ok(16));
    let mut other = set.clone();
    assert_eq!(set.next(), Ok(Next { cidr: net("127.123.234.64/30"), tries: 16 }));
    for last in [64, 68, 72, 80] {
        assert_eq!(other.occupy(&net(&format!("127.123.234.{last}/30"))), Ok(1));
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
    assert_eq!(release(&mut set, "127.123.234.4/30"), 1);
    assert_eq!(next(&mut set), "127.123.234.4/30");
    assert_eq!(set.next(), Err(Exhausted));
}

#[test]
fn case_206_the_search_goes_on_where_it_ended() {
    let mut set = set("127.123.234.0/28", 30);
    next(&mut set);
    assert_eq!(release(&mut set, "127.123.234.0/30"), 1);
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
        assert_eq!(set.range(&net(block)), Ok((15, 15)), "{cluster}");
    }
}

#[test]
fn case_209_twice_is_once() {
    let mut set = set("10.42.0.0/16", 24);
    assert_eq!(set.occupy(&net("10.42.1.0/24")), Ok(1));
    assert_eq!(set.occupy(&net("10.42.1.0/24")), Ok(0));
    assert_eq!(set.used(), 1);
    assert_eq!(release(&mut set, "10.42.1.0/24"), 1);
    assert_eq!(release(&mut set, "10.42.1.0/24"), 0);
    assert_eq!(set.used(), 0);
    for outside in ["10.43.1.0/24", "10.41.255.0/24", "fd00::/64"] {
        let error = set.occupy(&net(outside)).unwrap_err();
        assert_eq!(error.to_string(), format!("cidr {outside} is out the range of cluster cidr 10.42.0.0/16"));
        assert_eq!(set.release(&net(outside), |_| false), Err(error));
    }
}

#[test]
fn networks_of_other_sizes_take_every_block_that_they_touch() {
    let mut set = set("10.42.0.0/16", 24);
    assert_eq!(set.occupy(&net("10.42.7.128/25")), Ok(1), "smaller than a block: the one that it lies in");
    assert_eq!(set.occupy(&net("10.42.4.0/22")), Ok(3), "of four, one was taken");
    assert_eq!(set.occupy(&net("10.0.0.0/8")), Ok(252), "larger than the cluster: all others");
    assert_eq!(set.next(), Err(Exhausted));
    assert_eq!(release(&mut set, "0.0.0.0/0"), 256);
}

#[test]
fn what_is_still_needed_is_not_released() {
    let mut set = set("10.42.0.0/16", 24);
    set.occupy(&net("10.42.4.0/22")).unwrap();
    let needed = net("10.42.5.0/24");
    assert_eq!(set.release(&net("10.42.4.0/22"), |it| overlap(it, &needed)), Ok(3));
    assert_eq!(set.occupy(&needed), Ok(0));
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
