//! Refuses endpoints that contradict themselves, the credentials, or what no config can allow.

use crate::address;
use crate::base_url::CanonicalHost;
use crate::canonical;
use crate::credentials::Credentials;
use crate::effect::Effect;
use crate::endpoint::{Endpoint, EndpointPlace};
use crate::error::EgressError;
use crate::operation::{OperationPattern, OperationPlace};
use crate::request::Method;

/// Checks what can be checked before anything runs.
pub(crate) fn check(endpoints: &[Endpoint], credentials: &Credentials) -> Result<(), EgressError> {
    for (index, endpoint) in endpoints.iter().enumerate() {
        let name = || endpoint.name.clone();
        if endpoints[..index].iter().any(|it| it.name == endpoint.name) {
            return Err(EgressError::Twice { endpoint: name() });
        }
        check_place(endpoint, credentials)?;
        if let Some(header) =
            endpoint.headers.iter().find(|it| canonical::is_forbidden_header(&it.to_ascii_lowercase()))
        {
            return Err(EgressError::Header { endpoint: name(), header: header.clone() });
        }
        check_operation(endpoint)?;
        let limits = &endpoint.limits;
        let rate_is_usable = limits.requests_per_second.is_finite() && limits.requests_per_second > 0.0;
        for (limit, is_usable) in [
            ("requestsPerSecond", rate_is_usable),
            ("concurrency", limits.concurrency > 0),
            ("responseBytes", limits.response_bytes > 0),
            ("total", !limits.total.is_zero()),
        ] {
            if !is_usable {
                return Err(EgressError::Limit { endpoint: name(), limit });
            }
        }
        match &endpoint.credential {
            Some(credential) => credentials.check(credential, endpoint)?,
            None if endpoint.signing.is_some() => {
                let because =
                    "`signing` says what a signature is for, and there is no `credential` that signs".to_owned();
                return Err(EgressError::Signing { endpoint: name(), because });
            }
            None => {}
        }
    }
    Ok(())
}

/// Checks where an endpoint is, or may be.
fn check_place(endpoint: &Endpoint, credentials: &Credentials) -> Result<(), EgressError> {
    let name = || endpoint.name.clone();
    for origin in endpoint.place.origins() {
        if let CanonicalHost::Address(address) = *origin.host() {
            address::permit_literal(address).map_err(|because| EgressError::Address {
                endpoint: name(),
                address,
                because,
            })?;
        }
    }
    let EndpointPlace::Catalog(place) = &endpoint.place else { return Ok(()) };
    let refused = |because: String| Err(EgressError::Catalog { endpoint: name(), because });
    if place.origins.is_empty() {
        return refused("`origins` names none that the catalogue may lead to; write [\"https://…\"]".to_owned());
    }
    match &endpoint.credential {
        None => refused("`catalog` is that of a credential's tokens; name a keystone one in `credential`".to_owned()),
        // That it does not exist is said elsewhere.
        Some(credential) if credentials.check(credential, endpoint).is_err() => Ok(()),
        Some(credential) if credentials.has_catalog(credential) => Ok(()),
        Some(credential) => refused(format!(
            "the credential {credential} brings no catalogue; name a keystone one in `credential`, or write baseUrl in the place \
             of `catalog`"
        )),
    }
}

/// Checks that rules say what their requests do, where the endpoint's requests are told apart by an operation.
fn check_operation(endpoint: &Endpoint) -> Result<(), EgressError> {
    let refused = |because: String| Err(EgressError::Operation { endpoint: endpoint.name.clone(), because });
    match &endpoint.operation {
        Some(OperationPlace::Parameter(name)) if canonical::query(&[(name.clone(), String::new())], &[]).is_err() => {
            return refused(format!("no request can carry the parameter {name:?} of `operation`; name the API's own"));
        }
        Some(OperationPlace::Header(name)) if canonical::cannot_be_operation(&name.to_ascii_lowercase()) => {
            return refused(format!(
                "the header {name:?} of `operation` cannot say what a request does; name the API's own"
            ));
        }
        Some(_) | None => {}
    }
    let fixed: Vec<_> = endpoint.parameters.to_vec();
    if let Err(because) = canonical::query(&fixed, &[]) {
        return refused(format!("`parameters` cannot be sent: {because}"));
    }
    for (index, rule) in endpoint.allow.iter().enumerate() {
        let place = format!("allow[{index}]");
        match (&endpoint.operation, rule.operations.is_empty(), rule.effect) {
            (Some(it), true, _) => {
                return refused(format!(
                    "{place} names no `operations`, and requests say what they do in {it}; name those that it allows, as \
                     in [Describe*]"
                ));
            }
            (Some(_), false, None) => {
                return refused(format!(
                    "{place} has no `effect`; write effect: read, update, detach, write or delete"
                ));
            }
            (None, false, _) => {
                return refused(format!(
                    "{place} names `operations`, and the endpoint has no `operation`; write operation: {{ parameter: … }} \
                     or {{ header: … }}, or remove them"
                ));
            }
            (Some(_), false, Some(_)) | (None, true, _) => {}
        }
        if let Some(opened) = rule.content.opened().next()
            && (rule.operations.is_empty() || rule.operations.iter().any(OperationPattern::has_star))
        {
            return refused(format!(
                "{place} opens the parameter {opened}, which is refused everywhere else; name in its `operations` the few that have \
                 it, without a star"
            ));
        }
        if rule.content.has_fields() && endpoint.operation.is_some() {
            return refused(format!(
                "{place} names members of a JSON body, and requests with an operation have none; name parameters in `only`"
            ));
        }
        if let Some(method) = rule.methods.iter().find(|it| rule.content.has_fields() && !it.has_body()) {
            return refused(format!(
                "{place} names members of a JSON body, and a {method} has no body; give {method} a rule of its own"
            ));
        }
        let changes = |it: &&Method| matches!(it, Method::Put | Method::Patch | Method::Delete);
        if let (Some(Effect::Read), Some(method)) = (rule.effect, rule.methods.iter().find(changes)) {
            return refused(format!(
                "{place} says that {method} only reads; write effect: update, detach, write or delete"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::content::RuleContent;
    use crate::metrics::Metrics;
    use crate::testing::endpoint;
    use crate::{Egress, EgressSettings, EndpointLimits, OperationPattern, Rule};

    /// The error that an operator reads, causes included, after this change of the usual endpoint.
    fn refusal(change: impl Fn(&mut Endpoint)) -> Option<String> {
        let mut changed = endpoint("https://api.example.com");
        changed.ca_file = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
        change(&mut changed);
        let settings = EgressSettings {
            endpoints: vec![changed],
            credentials: Credentials::default(),
            fence: std::sync::Arc::new(|| true),
            demands: std::sync::Arc::new(|_| cloud_provider::Demand::default()),
            reports: std::sync::Arc::new(|_| ()),
            route: |it| it,
        };
        let error = Egress::new(settings, Metrics::register(&prometheus::Registry::new()).unwrap()).err()?;
        let source = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
        Some(format!("{error}{source}").replace(env!("CARGO_MANIFEST_DIR"), "DIR"))
    }

    #[test]
    fn limits_must_leave_room_for_a_request() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let text = refusal(|it| it.limits.requests_per_second = rate);
            assert_eq!(
                text.as_deref(),
                Some("endpoint api: `limits.requestsPerSecond` must be a number greater than zero"),
                "{rate}"
            );
        }
        let zeroes: [fn(&mut EndpointLimits); 3] =
            [|it| it.concurrency = 0, |it| it.response_bytes = 0, |it| it.total = std::time::Duration::ZERO];
        for zero in zeroes {
            let text = refusal(|it| zero(&mut it.limits)).unwrap_or_default();
            assert!(text.ends_with("must be a number greater than zero"), "{text}");
        }
    }

    #[test]
    fn headers_of_the_host_cannot_be_opened() {
        for header in ["Authorization", "cookie", "HOST", "X-Forwarded-For", "Proxy-Anything", "Metadata-Flavor"] {
            let text = refusal(|it| it.headers = vec!["x-extra".to_owned(), header.to_owned()]);
            let expected = format!("endpoint api: `headers` names {header}, which only the host may set; remove it");
            assert_eq!(text, Some(expected));
        }
    }

    #[test]
    fn rules_must_say_what_operations_do() {
        let describe = || OperationPattern::parse("Describe*").unwrap();
        let action = || Some(OperationPlace::Parameter("Action".to_owned()));
        let check = |change: &dyn Fn(&mut Endpoint), part: &str| {
            let text = refusal(change).unwrap_or_default();
            assert!(text.starts_with("endpoint api: ") && text.contains(part), "{text}");
        };
        check(&|it| it.operation = action(), "allow[0] names no `operations`");
        check(
            &|endpoint| {
                endpoint.operation = action();
                endpoint.allow = vec![Rule { operations: vec![describe()], ..endpoint.allow[0].clone() }];
            },
            "allow[0] has no `effect`",
        );
        check(&|it| it.allow[1].operations = vec![describe()], "the endpoint has no `operation`");
        check(&|it| it.allow[1].effect = Some(Effect::Read), "says that DELETE only reads");
        let fields = || RuleContent::parse(None, &[], &["port.tags"]).unwrap();
        check(&|it| it.allow[0].content = fields(), "a GET has no body; give GET a rule of its own");
        check(
            &|endpoint| {
                endpoint.operation = action();
                let (operations, content) = (vec![describe()], fields());
                endpoint.allow =
                    vec![Rule { operations, content, effect: Some(Effect::Write), ..endpoint.allow[1].clone() }];
            },
            "requests with an operation have none",
        );
        check(&|it| it.operation = Some(OperationPlace::Parameter("Signature".to_owned())), "no request can carry");
        check(&|it| it.operation = Some(OperationPlace::Header("authorization".to_owned())), "cannot say");
        check(&|it| it.operation = Some(OperationPlace::Header("accept".to_owned())), "cannot say");
        check(&|it| it.parameters = vec![("token".to_owned(), "x".to_owned())], "`parameters` cannot be sent");
    }

    #[test]
    fn a_file_of_authorities_must_hold_some() {
        expect_test::expect![
            "endpoint api: cannot read certificate authorities from DIR/Cargo.toml; correct `tls.caFile`: it has no certificate"
        ]
        .assert_eq(&refusal(|_| ()).unwrap_or_default());
        let text = refusal(|it| it.ca_file = Some("/nowhere/ca.pem".into())).unwrap_or_default();
        assert!(text.starts_with("endpoint api: cannot read certificate authorities from /nowhere/ca.pem"), "{text}");
        assert!(text.contains("No such file"), "{text}");
    }

    #[test]
    fn names_of_endpoints_are_unique() {
        let twice = [endpoint("https://api.example.com"), endpoint("https://other.example.com")];
        let error = check(&twice, &Credentials::default()).err().map(|it| it.to_string());
        assert_eq!(error.as_deref(), Some("endpoint api is there twice; rename one of them"));
    }
}
