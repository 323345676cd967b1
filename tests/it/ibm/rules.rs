//! Rules of the VPC as tables: requests one after the other, each with the status and the code that it gets.

use std::time::Duration;

use tests::clouds::ibm::{Behaviour, Options, Taking, VpcKind};

use crate::asked::Asked;

/// A load balancer of port 80 with one member, in the word `lb`.
const MADE: &[&str] = &[
    r#"POST load_balancers {"name":"a","is_public":true,"subnets":[{"id":"0717-s1"}],"pools":[{"name":"p","protocol":"tcp","algorithm":"round_robin","health_monitor":{"delay":5,"max_retries":2,"timeout":2,"type":"tcp","port":30080},"members":[{"port":30080,"target":{"address":"10.240.0.11"}}]}],"listeners":[{"port":80,"protocol":"tcp","default_pool":{"name":"p"}}]} as lb → 201"#,
];

async fn play(tables: &[&[&str]]) {
    Asked::with(Options::instant()).await.play(tables).await;
}

#[tokio::test]
async fn load_balancers_take_one_change_at_a_time() {
    let behaviour = Behaviour { creation: Taking::Forever, change: Taking::Reads(1), ..Behaviour::default() };
    let mut asked = Asked::with(Options::with(behaviour)).await;
    let pool = r#"POST load_balancers/@lb/pools {"name":"q","protocol":"tcp","algorithm":"round_robin","health_monitor":{"delay":5,"max_retries":2,"timeout":2,"type":"tcp"}}"#;
    let refused = |line: &str| format!("{line} → 409 load_balancer_update_conflict");
    asked.play(&[MADE, &[&refused(pool), &refused(r#"PATCH load_balancers/@lb {"name":"b"}"#)]]).await;
    asked.cloud.behave(|it| it.creation = Taking::Reads(1));
    asked.play(&[&["DELETE load_balancers/@lb → 202", &refused("DELETE load_balancers/@lb"), &refused(pool)]]).await;
    // The name of a load balancer that is being deleted stays taken.
    let again = MADE[0].replace(" as lb → 201", " → 409 not_unique");
    asked.play(&[&[&again, "GET load_balancers/@lb → 200", "GET load_balancers/@lb → 404 not_found"], MADE]).await;
    let made = asked.line("GET load_balancers/@lb").await.1;
    assert_eq!(
        (&made["provisioning_status"], &made["operating_status"]),
        (&"create_pending".into(), &"offline".into())
    );
    asked
        .play(&[&[
            &format!("{pool} → 201"),
            &refused(pool),
            "GET load_balancers → 200",
            &format!("{pool} → 409 not_unique"),
        ]])
        .await;
}

#[tokio::test]
async fn times_pass_where_a_change_takes_time() {
    let hour = Taking::Time(Duration::from_hours(1));
    let mut asked =
        Asked::with(Options::with(Behaviour { creation: hour, creations_fail: true, ..Behaviour::default() })).await;
    asked.play(&[MADE]).await;
    assert_eq!(asked.line("GET load_balancers/@lb").await.1["provisioning_status"], "create_pending");
    asked.cloud.advance(Duration::from_hours(1));
    assert_eq!(asked.line("GET load_balancers/@lb").await.1["provisioning_status"], "failed");
    asked.play(&[&["DELETE load_balancers/@lb → 202"]]).await;
}

#[tokio::test]
async fn pools_and_listeners_refer_to_each_other() {
    let monitor = r#""health_monitor":{"delay":5,"max_retries":2,"timeout":2,"type":"tcp"}"#;
    let pool =
        format!(r#"POST load_balancers/@lb/pools {{"name":"q","protocol":"tcp","algorithm":"round_robin",{monitor}}}"#);
    let made = format!("{pool} as q → 201");
    play(&[
        MADE,
        &[
            &made,
            &format!("{pool} → 409 not_unique"),
            r#"POST load_balancers/@lb/listeners {"port":443,"protocol":"tcp","default_pool":{"id":"nobody"}} → 404 not_found"#,
            r#"POST load_balancers/@lb/listeners {"port":80,"protocol":"tcp","default_pool":{"id":"@q"}} → 409 not_unique"#,
            r#"POST load_balancers/@lb/listeners {"port":443,"protocol":"tcp","default_pool":{"id":"@q"}} as l → 201"#,
            "DELETE load_balancers/@lb/pools/@q → 409 pool_in_use",
            r#"PATCH load_balancers/@lb/listeners/@l {"idle_connection_timeout":120} → 200"#,
            r#"PATCH load_balancers/@lb/pools/@q {"name":"p"} → 409 not_unique"#,
            r#"PATCH load_balancers/@lb/pools/@q {"name":"r","proxy_protocol":"v1"} → 200"#,
            r#"PUT load_balancers/@lb/pools/@q/members {"members":[{"port":1,"target":{"address":"10.240.0.12"}}]} → 202"#,
            r#"PUT load_balancers/@lb/pools/@q/members {"members":[{"port":1,"target":{"address":"10.240.0.12"}},{"port":1,"target":{"address":"10.240.0.12"}}]} → 409 not_unique"#,
            "DELETE load_balancers/@lb/listeners/@l → 202",
            "DELETE load_balancers/@lb/pools/@q → 202",
            "GET load_balancers/@lb/pools/@q/members → 404 not_found",
        ],
    ])
    .await;
}

#[tokio::test]
async fn ranges_of_ports_belong_to_public_network_ones() {
    let network = MADE[0].replace(r#""is_public":true"#, r#""is_public":true,"profile":{"name":"network-fixed"}"#);
    let listener = |ports: &str, expected: &str| {
        format!(r#"POST load_balancers/@lb/listeners {{{ports},"protocol":"tcp"}}{expected}"#)
    };
    let patched = |ports: &str, expected: &str| format!("PATCH load_balancers/@lb/listeners/@l {{{ports}}}{expected}");
    play(&[&[
        &network,
        &listener(r#""port_min":81,"port_max":90"#, " as l → 201"),
        &listener(r#""port":85"#, " → 409 not_unique"),
        &listener(r#""port_min":70,"port_max":80"#, " → 409 not_unique"),
        &listener(r#""port_min":95,"port_max":94"#, " → 400 bad_field"),
        &listener(r#""port":95,"port_min":95,"port_max":96"#, " → 400 bad_field"),
        &patched(r#""port_min":81,"port_max":84"#, " → 200"),
        &listener(r#""port":85"#, " → 201"),
        &patched(r#""port_min":81,"port_max":86"#, " → 409 not_unique"),
        &patched(r#""port":82"#, " → 200"),
    ]])
    .await;
    let private = network.replace(r#""is_public":true"#, r#""is_public":false"#);
    for made in [MADE[0], &private] {
        play(&[&[made, &listener(r#""port_min":81,"port_max":90"#, " → 400 bad_field")]]).await;
    }
}

#[tokio::test]
async fn values_that_the_api_does_not_take_are_refused() {
    let made = |from: &str, to: &str, expected: &str| {
        MADE[0].replace(from, to).replace("as lb → 201", &format!("→ {expected}"))
    };
    let many: Vec<String> =
        (1..=51).map(|it| format!(r#"{{"port":1,"target":{{"address":"10.240.1.{it}"}}}}"#)).collect();
    let members = format!(r#""members":[{}]"#, many.join(","));
    for (from, to, expected) in [
        (r#""name":"a""#, r#""name":"A""#, "400 bad_field"),
        ("0717-s1", "0717-s9", "404 not_found"),
        (r#"[{"id":"0717-s1"}]"#, r#"[{"id":"0717-s1"},{"id":"0717-s5"}]"#, "400 bad_field"),
        (r#"{"name":"p"}"#, r#"{"name":"q"}"#, "404 not_found"),
        (r#""timeout":2"#, r#""timeout":5"#, "400 bad_field"),
        (r#""port":80,"protocol":"tcp""#, r#""port":80,"protocol":"udp""#, "400 bad_field"),
        (r#""port":80,"#, r#""port":0,"#, "400 bad_field"),
        ("10.240.0.11", "node-1", "400 bad_field"),
        (r#""is_public":true"#, r#""is_public":true,"security_groups":[{"id":"nobody"}]"#, "404 not_found"),
        (r#""is_public":true"#, r#""is_public":true,"security_groups":[{"id":"r006-vpc2-sg"}]"#, "400 bad_field"),
        (r#""is_public":true"#, r#""is_public":true,"resource_group":{"id":"nobody"}"#, "404 not_found"),
        (r#""members":[{"port":30080,"target":{"address":"10.240.0.11"}}]"#, &*members, "400 over_quota"),
    ] {
        play(&[&[&made(from, to, expected)]]).await;
    }
    let mut asked = Asked::with(Options::instant()).await;
    asked.cloud.behave(|it| _ = it.quotas.insert(VpcKind::LoadBalancer, 1));
    asked.play(&[MADE, &[&made(r#""name":"a""#, r#""name":"b""#, "400 over_quota")]]).await;
}

#[tokio::test]
async fn lists_change_only_beside_the_mark_of_what_was_read() {
    let monitor = r#""delay":5,"max_retries":2,"timeout":2,"type":"http","url_path":"/healthz""#;
    let patched = |more: &str, expected: &str| {
        format!(r#"PATCH load_balancers/@lb/pools/@q {{"health_monitor":{{{monitor}{more}}}}} → {expected}"#)
    };
    play(&[
        MADE,
        &[
            r#"PATCH load_balancers/@lb {"subnets":[{"id":"0727-s2"}]} → 428 if_match_required"#,
            r#"POST load_balancers/@lb/pools {"name":"q","protocol":"tcp","algorithm":"round_robin","health_monitor":{"delay":5,"max_retries":2,"timeout":2,"type":"tcp"}} as q → 201"#,
            &patched(r#","response":{"codes":["200","204"]}"#, "428 if_match_required"),
            &patched("", "200"),
        ],
    ])
    .await;
}

#[tokio::test]
async fn entries_of_a_routing_table_are_one_zones() {
    let routes = "vpcs/r006-vpc1/routing_tables/r006-vpc1-rt/routes";
    let entry = |name: &str, zone: &str, hop: &str, expected: &str| {
        format!(
            r#"POST {routes} {{"name":"{name}","destination":"10.244.1.0/24","zone":{{"name":"{zone}"}},"action":"deliver","next_hop":{{"address":"{hop}"}}}}{expected}"#
        )
    };
    let made = entry("a", "us-south-1", "10.240.0.11", " as r → 201");
    let drops = made.replace(r#""a""#, r#""d""#).replace("deliver", "drop").replace("10.240.0.11", "0.0.0.0");
    let drops = drops.replace(" as r → 201", " → 409 route_destination_conflict");
    play(&[&[
        &made,
        &entry("a", "us-south-2", "10.240.0.11", " → 409 not_unique"),
        &drops,
        &entry("b", "us-south-1", "10.240.0.12", " → 201"),
        &entry("c", "us-south-1", "10.240.0.13", " → 409 route_destination_conflict"),
        &entry("c", "us-south-9", "10.240.0.13", " → 404 not_found"),
        &entry("ibm-c", "us-south-2", "10.240.0.13", " → 400 bad_field"),
        &entry("c", "us-south-2", "0.0.0.0", " → 400 bad_field"),
        &format!(r#"PATCH {routes}/@r {{"next_hop":{{"address":"10.240.0.12"}}}} → 200"#),
        &format!("GET {routes}/@r → 200"),
        &format!("DELETE {routes}/@r → 204"),
        &format!("DELETE {routes}/@r → 404 not_found"),
        "GET vpcs/r006-vpc2/routing_tables/r006-vpc1-rt/routes → 404 not_found",
    ]])
    .await;
    let mut asked = Asked::with(Options::instant()).await;
    asked.cloud.with(|world| (1..=2).for_each(|it| _ = world.add_machine(it, &format!("node-{it}"))));
    let open = r#"{"allow_ip_spoofing":true}"#;
    asked
        .play(&[&[
            &format!("PATCH instances/0717_e21b7391-1/network_interfaces/0717-nic-1 {open} → 200"),
            &format!("PATCH virtual_network_interfaces/0717-nic-2 {open} → 200"),
            &format!("PATCH virtual_network_interfaces/0717-nic-1 {open} → 404 not_found"),
        ]])
        .await;
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn pages_end_with_an_opaque_word() {
    let mut asked = Asked::with(Options::instant()).await;
    asked.cloud.with(|world| (1..=5).for_each(|it| _ = world.add_machine(it, &format!("node-{it}"))));
    let first = asked.line("GET instances?limit=2").await.1;
    let href = url::Url::parse(first["next"]["href"].as_str().unwrap()).unwrap();
    assert_eq!((href.host_str(), first["total_count"].as_u64()), (Some("us-south.iaas.cloud.ibm.com"), Some(5)));
    let start = href.query_pairs().find(|(it, _)| it == "start").unwrap().1.into_owned();
    let last = asked.line(&format!("GET instances?limit=3&start={start}")).await.1;
    assert_eq!((last["instances"].as_array().unwrap().len(), last["next"].is_null()), (3, true));
    asked.play(&[&["GET instances?limit=101 → 400 bad_field", "GET instances?start=%C3%BC → 400 invalid_start"]]).await;
    assert_eq!(asked.line("GET instances?vpc.id=r006-vpc2").await.1["total_count"], 0);
    assert_eq!(asked.line("GET instances?name=node-4&vpc.name=vpc1").await.1["total_count"], 1);
}

#[tokio::test]
async fn requests_that_differ_from_the_description_are_told() {
    let mut asked = Asked::with(Options::instant()).await;
    let made = MADE[0].trim_end_matches(" as lb → 201");
    let sctp = made.replace(r#""protocol":"tcp","default"#, r#""protocol":"sctp","default"#);
    for (line, part) in [
        ("GET instances?colour=red", "the query key colour is not declared"),
        ("GET instances?version=2026-06-23", "the query key version stands there twice"),
        (r#"POST load_balancers {"is_public":true}"#, "\"subnets\" is a required property"),
        (r#"POST load_balancers {"is_public":true,"subnets":[{"id":"0717-s1","colour":"red"}]}"#, "colour"),
        (r#"POST load_balancers {"is_public":true,"subnets":[{"zone":"us-south-1"}]}"#, "in the 'anyOf' keyword"),
        (&*sctp, r#""sctp" is not one of "http""#),
        ("POST instances/a/actions", "the description has no such operation"),
    ] {
        asked.line(line).await;
        let told = asked.cloud.take_violations().join("; ");
        assert!(told.contains(part), "{line}: {told}");
    }
}
