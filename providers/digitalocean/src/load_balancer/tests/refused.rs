//! Values that cannot be meant: the message names the key, the value, and what may stand there.

use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Error, LoadBalancer, Result};
use serde_json::json;

use super::{CERTIFICATE, Desired, OTHER_ID, Settings, key, refusal, regional, service};

/// Checks the message about one value.
fn check(service: LoadBalancer, key: &str, value: &str, allowed: &str) {
    let why = refusal(&service.with_annotation(key, value));
    assert_eq!(why, format!("annotation {key}: {value:?} is not {allowed}"));
}

#[test]
fn unknown_words_are_refused() {
    for (key, allowed) in [
        (key::TYPE.name, "REGIONAL or REGIONAL_NETWORK"),
        (key::NETWORK.name, "EXTERNAL or INTERNAL"),
        (key::NETWORK_STACK.name, "IPV4 or DUALSTACK"),
        (key::SIZE_SLUG.name, "lb-small, lb-medium or lb-large"),
    ] {
        for value in ["regional", "internal", "x"] {
            check(service(), key, value, allowed);
        }
    }
    for value in ["sctp", "http3"] {
        let allowed = "tcp, http, https or http2 (for http3 there is an annotation of its own)";
        check(regional(), key::PROTOCOL.name, value, allowed);
    }
    let overridden = service().with_annotation(key::HEALTH_OVERRIDE.name, "true");
    check(overridden, key::HEALTH_PROTOCOL.name, "udp", "tcp, http or https");
}

#[test]
fn booleans_are_those_that_the_vendor_takes() {
    for key in [key::REDIRECT.name, key::NO_DNS_RECORDS.name, key::PROXY_PROTOCOL.name, key::KEEPALIVE.name] {
        for value in ["yes", "on", "tRUE", "2"] {
            check(service(), key, value, "true or false");
        }
    }
}

#[test]
fn numbers_are_within_bounds() {
    for (key, least, most) in [(key::HEALTH_UNHEALTHY.name, 2, 10), (key::HEALTH_HEALTHY.name, 2, 10)] {
        for value in ["x", "0", &(least - 1).to_string(), &(most + 1).to_string(), "3.5", "-3"] {
            check(service(), key, value, &format!("a whole number from {least} to {most}"));
        }
    }
    for key in [key::HEALTH_INTERVAL.name, key::HEALTH_TIMEOUT.name] {
        for value in ["2", "301", "0", "3s"] {
            check(service(), key, value, "a whole number from 3 to 300");
        }
    }
    for value in ["101", "-1", "three"] {
        check(service(), key::SIZE_UNIT.name, value, "a whole number from 0 to 100");
    }
    for value in ["29", "601", "1m", "-1"] {
        check(service(), key::IDLE_TIMEOUT.name, value, "a whole number of seconds from 30 to 600");
    }
}

#[test]
fn a_value_that_is_no_port_is_refused() {
    for key in [key::HTTP_PORTS.name, key::TLS_PORTS.name, key::HTTP2_PORTS.name] {
        for value in ["x", "80,,81", "80;81", "0", "65536", "-1", "http"] {
            check(regional(), key, value, "a list of ports such as 80,8080");
        }
    }
    for value in ["80,81", "0", "x"] {
        check(regional(), key::HTTP3_PORT.name, value, "one port, a whole number from 1 to 65535");
        let overridden = service().with_annotation(key::HEALTH_OVERRIDE.name, "");
        check(overridden, key::HEALTH_PORT.name, value, "one port, a whole number from 1 to 65535");
    }
    let overridden = service().with_annotation(key::HEALTH_OVERRIDE.name, "");
    check(overridden.clone(), key::HEALTH_PORT.name, "81", "a TCP port of the Service");
    check(overridden, key::HEALTH_PATH.name, "healthz", "a path that begins with /");
}

#[test]
fn names_addresses_and_ids_have_their_form() {
    let name = "a name of at most 255 letters, digits, dots and dashes that begins with a letter or digit and does \
        not end with a dash";
    for value in ["-web", "web-", "web_1", "wéb", "../x", "a b", "${HOME}"] {
        check(service(), key::NAME.name, value, name);
    }
    assert!(
        refusal(&service().with_annotation(key::NAME.name, "x".repeat(256)))
            .contains("x\"… is not a name of at most 255")
    );
    for value in ["300.0.0.1", "2001:db8::1", "web"] {
        check(service(), key::IP.name, value, "an IPv4 address");
    }
    check(service(), key::SUBNET.name, "subnet-1", "the UUID of a subnet");
    check(regional(), key::CERTIFICATE_ID.name, "my-certificate", "the UUID of a certificate");
    for value in ["192.0.2.1", "lb_1.example.com", "-lb.example.com", "lb..example.com"] {
        check(service(), key::HOSTNAME.name, value, "a DNS name such as lb.example.com");
    }
    for key in [key::ALLOW_RULES.name, key::DENY_RULES.name] {
        for value in ["1.2.3.4", "ip:1.2.3", "cidr:1.2.3.4", "cidr:1.2.3.4/33", "host:x", "ip:1.2.3.4;ip:1.2.3.5"] {
            check(service(), key, value, "a list such as ip:192.0.2.1,cidr:198.51.100.0/24");
        }
    }
}

#[test]
fn an_annotation_without_its_partner_asks_for_it() {
    let cookies = regional().with_annotation(key::STICKY_TYPE.name, "cookies");
    let why = |missing: &str| format!("annotation {}: \"cookies\" needs annotation {missing}", key::STICKY_TYPE.name);
    assert_eq!(refusal(&cookies), why(key::STICKY_COOKIE_NAME.name));
    for value in ["L", &"x".repeat(41)] {
        check(cookies.clone(), key::STICKY_COOKIE_NAME.name, value, "a name of 2 to 40 characters");
    }
    let named = cookies.with_annotation(key::STICKY_COOKIE_NAME.name, "LB");
    assert_eq!(refusal(&named), why(key::STICKY_COOKIE_TTL.name));
    check(named, key::STICKY_COOKIE_TTL.name, "5m", "a whole number from 1 to 4294967295");

    let sizes = service().with_annotation(key::SIZE_SLUG.name, "lb-large").with_annotation(key::SIZE_UNIT.name, "3");
    let both = format!("annotations {} and {} cannot both be set", key::SIZE_SLUG.name, key::SIZE_UNIT.name);
    assert_eq!(refusal(&sizes), both);
}

#[test]
fn annotations_that_exclude_each_other_are_refused() {
    let internal = service().with_annotation(key::NETWORK.name, "INTERNAL");
    check(internal, key::NETWORK_STACK.name, "DUALSTACK", "possible with an INTERNAL load balancer: IPV4");
    check(
        service(),
        key::NETWORK_STACK.name,
        "DUALSTACK",
        "possible while a node lacks a public IPv6 address: IPV4, or a load balancer of type REGIONAL",
    );
    let certificate =
        regional().with_annotation(key::CERTIFICATE_NAME.name, "web").with_annotation(key::TLS_PASSTHROUGH.name, "1");
    assert!(refusal(&certificate).contains("cannot both be set"));
}

#[test]
fn a_name_that_proves_whose_it_is_cannot_be_chosen_by_another() {
    let allowed = "free to choose: it is what the load balancer of the Service with this UID is called by default";
    let of_another = "a1f2e3d4c5b6a79880910a1b2c3d4e5f";
    check(service(), key::NAME.name, of_another, allowed);
    check(service(), key::NAME.name, &of_another.to_uppercase(), allowed);
    for free in [super::NAME, "a1f2e3d4c5b6a79880910a1b2c3d4e5", "b1f2e3d4c5b6a79880910a1b2c3d4e5f", "adeadbeef"] {
        assert_eq!(super::desired(&service().with_annotation(key::NAME.name, free)).0["name"], free);
    }
}

fn not_nameable(annotation: &str, value: &str, setting: &str) -> Error {
    Error::invalid(format_args!(
        "annotation {annotation}: {value:?} is not for authors of Services to name: take it off, or let the operator of the cluster \
         add it to setting {setting}"
    ))
}

#[test]
fn adv_170_reserved_ips_are_those_that_the_operator_allows() {
    let named = service().with_annotation(key::IP.name, "198.51.100.7");
    assert_eq!(Error::Invalid(refusal(&named)), not_nameable(key::IP.name, "198.51.100.7", "allowedReservedIPs"));
}

/// Which certificate a rule for HTTPS gets, of a load balancer that has none or this one.
fn certificate(allowed: &'static str, key: &str, value: &str, has: Option<&str>) -> Result<Option<String>> {
    let live = has.map(|id| {
        let rule =
            json!({ "entry_protocol": "https", "entry_port": 443, "target_protocol": "http", "target_port": 80 });
        let mut live = json!({ "type": "REGIONAL", "forwarding_rules": [rule] });
        live["forwarding_rules"][0]["certificate_id"] = json!(id);
        super::live(&live)
    });
    let service = regional().with_annotation(key, value);
    let certificates = json!({ "certificates": [{ "id": OTHER_ID, "name": "shop", "type": "custom" }] }).to_string();
    let one = json!({ "certificate": { "id": OTHER_ID, "name": "shop", "type": "custom" } }).to_string();
    let host = Host::new().setting("allowedCertificates", allowed);
    let host = host.answers(move |it| answer(200, if it.path.len() > 2 { one.clone() } else { certificates.clone() }));
    host.run(|| {
        let settings = Settings::read()?;
        let mut desired = Desired::of(&service, &settings, live.as_ref())?;
        let rules = &mut desired.spec.forwarding_rules;
        desired.tls.resolve(rules, live.as_ref(), &settings.allowed_certificates)?;
        Ok(rules.iter().find_map(|it| it.certificate_id.clone()))
    })
}

#[test]
fn adv_170_certificates_are_those_that_the_operator_allows() {
    let (id, name) = (key::CERTIFICATE_ID.name, key::CERTIFICATE_NAME.name);
    let refused = |key, value| Err(not_nameable(key, value, "allowedCertificates"));
    assert_eq!(certificate("none", id, CERTIFICATE, None), refused(id, CERTIFICATE));
    assert_eq!(certificate(CERTIFICATE, id, CERTIFICATE, None), Ok(Some(CERTIFICATE.to_owned())));
    assert_eq!(certificate("none", name, "shop", None), refused(name, "shop"));
    assert_eq!(certificate("sho*", name, "shop", None), Ok(Some(OTHER_ID.to_owned())));
    // A load balancer keeps the certificate that it has, and gets no other.
    assert_eq!(certificate("none", id, CERTIFICATE, Some(CERTIFICATE)), Ok(Some(CERTIFICATE.to_owned())));
    assert_eq!(certificate("none", id, CERTIFICATE, Some(OTHER_ID)), refused(id, CERTIFICATE));
    assert_eq!(certificate("none", name, "shop", Some(OTHER_ID)), Ok(Some(OTHER_ID.to_owned())));
    assert_eq!(certificate("none", name, "shop", Some(CERTIFICATE)), refused(name, "shop"));
}
