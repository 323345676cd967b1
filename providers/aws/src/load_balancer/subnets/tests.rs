//! The choice of subnets.

use super::*;
use crate::tests::{action, host, settings};

fn subnet(id: &str, zone: &str, tags: &[&str]) -> Subnet {
    let tags = tags.iter().map(|it| ((*it).to_owned(), "1".to_owned())).collect();
    Subnet { id: id.to_owned(), zone: zone.to_owned(), tags, ..Subnet::default() }
}

/// EC2 shows that these subnets have a route table of their own, without a route to the internet.
fn public(private: &'static [&'static str]) -> PublicSubnets {
    let found = host(move |_| {
        let of = |it: &&str| format!("<item><subnetId>{it}</subnetId></item>");
        let private: String = private.iter().map(of).collect();
        let main = "<associationSet><item><main>true</main></item></associationSet>";
        aerostat_sdk::testing::answer(
            200,
            format!(
                "<R><routeTableSet><item><routeSet><item><gatewayId>local</gatewayId></item></routeSet>\
                 <associationSet>{private}</associationSet></item><item><routeSet><item><gatewayId>vgw-1</gatewayId></item>\
                 <item><gatewayId>igw-1</gatewayId></item></routeSet>{main}</item></routeTableSet></R>"
            ),
        )
    });
    found.run(|| route_tables::public_subnets("vpc-1")).unwrap()
}

fn chosen(all: Vec<Subnet>, private: &'static [&'static str], is_internal: bool) -> Result<Vec<String>> {
    let cluster = settings().run(ClusterMarks::read).unwrap();
    let chosen = one_of_each_zone(all, &public(private), &cluster, is_internal)?;
    Ok(chosen.into_iter().map(|it| it.id).collect())
}

#[test]
fn one_subnet_of_each_zone_is_taken() {
    let (cluster, role) = ("kubernetes.io/cluster/prod", PUBLIC_ROLE);
    let all = vec![
        subnet("subnet-5", "z2", &[]),
        subnet("subnet-4", "z2", &[cluster]),
        subnet("subnet-3", "z1", &[cluster]),
        subnet("subnet-2", "z1", &[role]),
        subnet("subnet-1", "z3", &["kubernetes.io/cluster/other", role]),
        subnet("subnet-7", "z4", &["kubernetes.io/cluster/other", cluster]),
        subnet("subnet-9", "z5", &[]),
        subnet("subnet-8", "z5", &[]),
    ];
    let expected = ["subnet-2", "subnet-4", "subnet-7", "subnet-8"].map(str::to_owned).to_vec();
    assert_eq!(chosen(all, &[], false), Ok(expected));
}

#[test]
fn a_private_subnet_is_for_internal_ones() {
    let all = || vec![subnet("subnet-1", "z1", &[]), subnet("subnet-2", "z2", &[INTERNAL_ROLE])];
    assert_eq!(chosen(all(), &["subnet-2"], false), Ok(vec!["subnet-1".to_owned()]));
    assert_eq!(chosen(all(), &["subnet-2"], true), Ok(vec!["subnet-1".to_owned(), "subnet-2".to_owned()]));
    assert!(matches!(chosen(all(), &["subnet-1", "subnet-2"], false), Err(Error::Invalid(_))));
}

#[test]
fn a_subnet_without_route_table_is_no_private_one() {
    let cluster = settings().run(ClusterMarks::read).unwrap();
    let all = vec![subnet("subnet-1", "z1", &[])];
    let unclear = one_of_each_zone(all, &PublicSubnets::default(), &cluster, false);
    assert!(matches!(&unclear, Err(Error::Unavailable(why)) if why.contains("subnet-1")), "{unclear:?}");
}

#[test]
fn local_zones_are_left_out() {
    let found = host(|request| {
        let body = match action(request) {
            "DescribeSubnets" => {
                let subnet = |(id, zone): (&str, &str)| {
                    format!("<item><subnetId>{id}</subnetId><availabilityZone>{zone}</availabilityZone></item>")
                };
                let all = [("subnet-1", "us-east-1a"), ("subnet-2", "us-east-1-bos-1a")].map(subnet).concat();
                format!("<subnetSet>{all}</subnetSet>")
            }
            "DescribeRouteTables" => "<routeTableSet><item><routeSet><item><gatewayId>igw-1</gatewayId></item></routeSet>\
                                      <associationSet><item><main>true</main></item></associationSet></item></routeTableSet>"
                .to_owned(),
            "DescribeAvailabilityZones" => {
                let zone = |(name, kind): (&str, &str)| {
                    format!("<item><zoneName>{name}</zoneName><zoneType>{kind}</zoneType></item>")
                };
                let zones = [("us-east-1a", "availability-zone"), ("us-east-1-bos-1a", "local-zone")];
                format!("<availabilityZoneInfo>{}</availabilityZoneInfo>", zones.map(zone).concat())
            }
            other => panic!("{other}"),
        };
        aerostat_sdk::testing::answer(200, format!("<R>{body}</R>"))
    });
    let service = aerostat_sdk::LoadBalancer::of("default", "web", "uid");
    let subnets = found.run(|| of(&ServiceCall::of(&service)?, false, &SortedSet::new())).unwrap();
    assert_eq!(subnets.iter().map(|it| &*it.id).collect::<Vec<_>>(), ["subnet-1"]);
}

#[test]
fn adv_170_subnets_of_another_cluster_are_refused() {
    let cluster = settings().run(ClusterMarks::read).unwrap();
    let all = [
        subnet("subnet-1", "z1", &[]),
        subnet("subnet-2", "z2", &["kubernetes.io/cluster/prod", "kubernetes.io/cluster/other"]),
        subnet("subnet-3", "z3", &["kubernetes.io/cluster/other"]),
    ];
    let texts = |ids: &[&str]| ids.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let named = |ids: &[&str], has: &[&str]| named(&all, &texts(ids), &cluster, &texts(has).into_iter().collect());
    assert_eq!(named(&["subnet-1", "subnet-2"], &[]).unwrap().len(), 2);
    let Err(Error::Invalid(why)) = named(&["subnet-1", "subnet-3"], &["subnet-1"]) else { panic!("it is another's") };
    assert!(why.contains("subnet-3 has the tag of another cluster"), "{why}");
    assert_eq!(named(&["subnet-1", "subnet-3"], &["subnet-3"]).unwrap().len(), 2, "nothing is added");
}
