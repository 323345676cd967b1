//! The file's contents that are taken, and the sentences about all others.

use std::path::PathBuf;
use std::time::Duration;

use egress::{
    AllowedAddresses, CredentialKind, Effect, KeySource, Method, OperationPattern, OperationPlace, Requirement,
    Sigv4Settings, WriteLimits,
};

use sandbox::Source;

use super::*;

mod acs3;
mod entra;
mod google;
mod ibm_iam;
mod keystone;

const SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The example of the architecture page, and more.
fn example() -> String {
    format!(
        "apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  module:
    configMap: {{ name: digitalocean-provider, key: provider.wasm, sha256: {SHA256} }}
  settings: {{ region: nyc3, version: 1.10, dryRun: true, size: '', vpcId: 0x1f }}
  writesAnnotations: [kubernetes.digitalocean.com/load-balancer-id]
  nodeLabels: [pool]
  limits: {{ cpu: 250ms, wall: 60s, memory: 32Mi, concurrency: 4, deletesPerEnsure: 3, deletesPerDelete: 0 }}
endpoints:
  - name: api
    baseUrl: https://api.digitalocean.com
    credential: token
    allow:
      - {{ methods: [GET], paths: [/v2/droplets/**, /v2/load_balancers/**] }}
      - {{ methods: [POST, PUT, DELETE], paths: [/v2/load_balancers/**] }}
    addresses: public
    limits: {{ requestsPerSecond: 0.5, concurrency: 2, responseBytes: 1Mi, total: 10s }}
  - name: private
    baseUrl: https://cloud.internal:8443/api
    allow: []
    addresses: [10.0.0.0/8, fd00::/8]
    tls: {{ caFile: /etc/aerostat/ca.crt }}
    headers: [x-project]
  - name: ec2
    baseUrl: https://ec2.eu-central-1.amazonaws.com
    signing: {{ region: eu-central-1, service: ec2 }}
    operation: {{ parameter: Action }}
    parameters: {{ Version: 2016-11-15 }}
    allow:
      - {{ methods: [POST], paths: [/], operations: [Describe*], effect: read }}
      - {{ methods: [POST], paths: [/], operations: [CreateRoute, ReplaceRoute], effect: write, requires: [if-match] }}
      - {{ methods: [POST], paths: [/], operations: [CreateTags], effect: write, only: [Tag.*, 7], where: {{ ResourceId.*: [sg-*, false] }} }}
credentials:
  - {{ name: token, bearer: {{ file: /etc/aerostat/token }}, limits: {{ window: 5m, deletions: 7, creations: 9, updates: 11, creationsPerChange: 4, detachmentsPerChange: 6 }} }}
clusterNetworks: {{ pods: [77.1.0.0/16, 2001:db8:1::/56], nodes: [88.1.2.0/24] }}
"
    )
}

/// A change to the example is refused with words that hold `parts`, each of them.
fn check_refused(from: &str, to: &str, parts: &[&str]) {
    let text = example().replacen(from, to, 1);
    assert_ne!(text, example(), "nothing was changed by {from:?}");
    let error = CloudConfig::parse(&text).expect_err(to);
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in the error for {to:?}:\n{error}");
    }
}

#[test]
fn the_example_is_read() {
    let config = CloudConfig::parse(&example()).unwrap();
    let ModuleSource::Local(Source::ConfigMap { namespace, name, key, sha256 }) = config.source else {
        panic!("not a ConfigMap")
    };
    assert_eq!(
        (namespace.as_str(), name.as_str(), key.as_str()),
        ("kube-system", "digitalocean-provider", "provider.wasm")
    );
    assert_eq!(sha256.to_string(), SHA256);
    let settings: Vec<_> =
        config.provider.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let expected = [("dryRun", "true"), ("region", "nyc3"), ("size", ""), ("version", "1.10"), ("vpcId", "0x1f")];
    assert_eq!(settings, expected, "a setting is what was written");
    assert_eq!(config.provider.node_labels, ["pool"]);
    let limits = config.provider.limits;
    assert_eq!((limits.cpu, limits.wall), (Duration::from_millis(250), Duration::from_secs(60)));
    assert_eq!((limits.memory, limits.concurrency), (32 << 20, 4));
    assert_eq!((limits.deletes_per_ensure, limits.deletes_per_delete), (3, 0));
    assert_eq!(config.provider.writes_annotations, ["kubernetes.digitalocean.com/load-balancer-id"]);

    let [api, private, ec2] = config.endpoints.as_slice() else { panic!("three endpoints") };
    assert_eq!((api.name.as_str(), api.credential.as_deref()), ("api", Some("token")));
    assert_eq!(api.place.to_string(), "https://api.digitalocean.com");
    assert_eq!(api.allow[1].methods, [Method::Post, Method::Put, Method::Delete]);
    assert_eq!((api.limits.requests_per_second, api.limits.concurrency), (0.5, 2));
    assert_eq!((api.limits.response_bytes, api.limits.total), (1 << 20, Duration::from_secs(10)));
    assert_eq!(
        private.addresses,
        AllowedAddresses::Networks(vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()])
    );
    assert_eq!(private.ca_file, Some(PathBuf::from("/etc/aerostat/ca.crt")));
    assert_eq!(private.limits.requests_per_second, 20.0);
    assert_eq!(ec2.operation, Some(OperationPlace::Parameter("Action".to_owned())));
    let signing = match &ec2.signing {
        Some(Signing::Sigv4 { region, service }) => Some((region.as_str(), service.as_str())),
        Some(Signing::Acs3 { .. }) | None => None,
    };
    assert_eq!(signing, Some(("eu-central-1", "ec2")));
    assert_eq!(ec2.parameters, [("Version".to_owned(), "2016-11-15".to_owned())]);
    assert_eq!(ec2.allow[0].operations, [OperationPattern::parse("Describe*").unwrap()]);
    assert_eq!((ec2.allow[0].effect, ec2.allow[1].effect), (Some(Effect::Read), Some(Effect::Write)));
    assert_eq!((&ec2.allow[0].requires[..], &ec2.allow[1].requires[..]), (&[][..], &[Requirement::IfMatch][..]));
    let values = [("ResourceId.*".to_owned(), vec!["sg-*".to_owned(), "false".to_owned()])];
    assert_eq!(ec2.allow[2].content, RuleContent::parse(Some(&["Tag.*", "7"]), &values, &[]).unwrap());
    assert!(ec2.allow[1].content.is_open());
    assert_eq!((api.allow[0].effect, api.operation.as_ref()), (None, None));
    assert_eq!(config.credentials[0].name, "token");
    assert_eq!(config.cluster_networks.pods, ["77.1.0.0/16".parse().unwrap(), "2001:db8:1::/56".parse().unwrap()]);
    assert_eq!(config.cluster_networks.nodes, ["88.1.2.0/24".parse().unwrap()]);
    let limits = WriteLimits {
        window: Duration::from_secs(300),
        deletions: 7,
        creations: 9,
        detachments: 50,
        updates: 11,
        deletions_per_change: 2,
        creations_per_change: 4,
        detachments_per_change: 6,
        updates_per_change: 5,
    };
    assert_eq!(config.credentials[0].limits, limits);
}

#[test]
fn little_is_required() {
    let text = format!(
        "apiVersion: aerostat.dev/v1alpha1\nkind: CloudConfig\nprovider:\n  module:\n    file: {{ path: /p.wasm, sha256: sha256:{SHA256} }}\n"
    );
    let config = CloudConfig::parse(&text).unwrap();
    assert_eq!(config.compile, CompileLimits::default());
    assert!(matches!(config.source, ModuleSource::Local(Source::File { path, .. }) if path.as_os_str() == "/p.wasm"));
    assert_eq!(config.provider.limits.memory, 64 << 20);
    assert_eq!(config.provider.limits.deletes_per_ensure, 10);
    assert_eq!(config.provider.limits.deletes_per_delete, 20);
    assert!(config.endpoints.is_empty() && config.credentials.is_empty());
    assert!(config.cluster_networks.pods.is_empty() && config.cluster_networks.nodes.is_empty());
}

#[test]
fn every_limit_of_the_compiler_can_be_set() {
    let keys = "memory: 1Gi, cpu: 1500ms, output: 9Mi, modules: 1, nesting: 2, types: 3, definitions: 4, customBytes: 5, \
        functions: 6, functionBytes: 7, locals: 8, blocks: 9, branchTargets: 10";
    let text = example().replacen("limits: {", &format!("limits: {{ compile: {{ {keys} }},"), 1);
    let expected = CompileLimits {
        memory: 1 << 30,
        cpu: 2,
        output: 9 << 20,
        modules: 1,
        nesting: 2,
        types: 3,
        definitions: 4,
        custom_bytes: 5,
        functions: 6,
        function_bytes: 7,
        locals: 8,
        blocks: 9,
        branch_targets: 10,
    };
    assert_eq!(CloudConfig::parse(&text).unwrap().compile, expected);
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_known_ones() {
    check_refused("  nodeLabels:", "  nodelabels:", &["nodelabels", "nodeLabels", "line 8"]);
    check_refused("    credential: token", "    credentials: token", &["credentials", "credential", "line 13"]);
    check_refused("memory: 32Mi", "ram: 32Mi", &["ram", "memory", "line 9"]);
    check_refused("{ name: token, bearer", "{ name: token, digest", &["digest", "bearer", "basic"]);
    check_refused("{ name: token, bearer", "{ name: token, basic", &["file", "userFile", "passwordFile"]);
}

#[test]
fn a_credential_is_of_one_kind() {
    let bearer = "bearer: { file: /etc/aerostat/token }";
    let basic = "basic: { userFile: /etc/aerostat/user, passwordFile: /etc/aerostat/password }";
    let config = CloudConfig::parse(&example().replacen(bearer, basic, 1)).unwrap();
    let CredentialKind::Basic { user_file, password_file } = &config.credentials[0].kind else { panic!("not basic") };
    assert_eq!(
        (user_file.to_str(), password_file.to_str()),
        (Some("/etc/aerostat/user"), Some("/etc/aerostat/password"))
    );
    check_refused(
        bearer,
        &format!("{bearer}, {basic}"),
        &["credential token is bearer and basic", "write one of them"],
    );
    check_refused(&format!(", {bearer}"), "", &["credential token names no secret", "basic: { userFile:"]);
}

/// The settings of `sigv4: { region: eu-west-1, … }`, or what is wrong with them.
fn sigv4(keys: &str) -> Result<Sigv4Settings, String> {
    let sigv4 = format!("sigv4: {{ region: eu-west-1, {keys} }}");
    let text = example().replacen("bearer: { file: /etc/aerostat/token }", &sigv4, 1);
    let config = CloudConfig::parse(&text)?;
    match &config.credentials[0].kind {
        CredentialKind::Sigv4(settings) => Ok((**settings).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_for_signatures_come_from_one_source() {
    let file = sigv4("sharedFile: { file: /etc/aerostat/aws }").unwrap();
    let KeySource::SharedFile { file: path, profile } = &file.keys else { panic!("{file:?}") };
    assert_eq!((path.to_str(), profile.as_str()), (Some("/etc/aerostat/aws"), "default"));
    assert_eq!((file.region.as_str(), file.assume_role.is_none()), ("eu-west-1", true));
    assert_eq!((file.sts.base_url.as_ref(), &file.sts.addresses), (None, &AllowedAddresses::Public));
    let pod = sigv4("podIdentity: { tokenFile: /var/token }").unwrap();
    assert!(format!("{:?}", pod.keys).contains("169.254.170.23"), "{:?}", pod.keys);
    let machine = sigv4("instanceMetadata: {}").unwrap();
    assert!(format!("{:?}", machine.keys).contains("169.254.169.254"), "{:?}", machine.keys);
    let role = "roleArn: 'arn:aws:iam::123456789012:role/ccm'";
    let web = sigv4(&format!(
        "webIdentity: {{ {role}, tokenFile: /var/token }}, assumeRole: {{ {role}, externalId: e, sourceArn: 'arn:aws:eks', \
         sourceAccount: '012345678901' }}, sts: {{ baseUrl: https://sts.internal, addresses: [10.0.0.0/8], tls: {{ caFile: /ca }} }}"
    ))
    .unwrap();
    let wanted = web.assume_role.unwrap();
    assert_eq!((wanted.external_id.as_deref(), wanted.source_account.as_deref()), (Some("e"), Some("012345678901")));
    assert_eq!(web.sts.base_url.map(|it| it.to_string()).as_deref(), Some("https://sts.internal"));
    assert_eq!(web.sts.ca_file, Some(PathBuf::from("/ca")));
}

#[test]
fn bad_sources_of_keys_are_named() {
    let refused = |keys: &str, part: &str| {
        let error = sigv4(keys).expect_err(keys);
        assert!(error.contains(part), "{keys}: {error}");
    };
    let file = "sharedFile: { file: /etc/aerostat/aws }";
    refused("sts: {}", "credential token says not where its keys come from; write sharedFile:");
    refused(&format!("{file}, instanceMetadata: {{}}"), "credential token has several sources of keys");
    refused("webIdentity: { roleArn: ccm, tokenFile: /var/token }", "write its ARN, as in arn:aws:iam::");
    refused("podIdentity: { tokenFile: /var/token, url: http://10.0.0.1/ }", "169.254.170.23");
    refused(&format!("{file}, sts: {{ baseUrl: http://sts.internal }}"), "write https://");
    refused(&format!("{file}, key: secret"), "key");
    check_refused("bearer: { file", "sigv4: { region: EU, sharedFile: {} }, bearer: { file", &["EU", "is no region"]);
    let both = format!("sigv4: {{ region: eu-west-1, {file} }}, bearer: {{ file");
    check_refused("bearer: { file", &both, &["credential token is bearer and sigv4; write one of them"]);
    check_refused("service: ec2", "service: EC2", &["\"EC2\" is no service", "as in ec2"]);
}

#[test]
fn a_missing_key_is_named() {
    check_refused("kind: CloudConfig\n", "", &["kind"]);
    check_refused(", key: provider.wasm", "", &["key"]);
    check_refused("    baseUrl: https://api.digitalocean.com\n", "", &["baseUrl"]);
}

#[test]
fn a_wrong_value_is_named_with_what_to_write() {
    check_refused("aerostat.dev/v1alpha1", "aerostat.dev/v9", &["aerostat.dev/v9", "aerostat.dev/v1alpha1", "line 1"]);
    check_refused("kind: CloudConfig", "kind: Cloud", &["CloudConfig", "line 2"]);
    check_refused("cpu: 250ms", "cpu: 250", &["\"250\" is not a duration", "line 9"]);
    check_refused("memory: 32Mi", "memory: 32MB", &["\"32MB\" is not a size", "64Mi"]);
    check_refused("concurrency: 4", "concurrency: 0", &["\"0\" is not a number from 1 to 1000"]);
    check_refused(&SHA256[..8], "", &["is not a SHA-256", "line 5"]);
    check_refused("[GET]", "[GTE]", &["GTE"]);
    check_refused("/v2/droplets/**", "v2/droplets/**", &["v2/droplets/**", "slash"]);
    check_refused("https://api.digitalocean.com", "http://api.digitalocean.com", &["http://", "line 12"]);
    check_refused("addresses: public", "addresses: private", &["private", "public"]);
    check_refused("[10.0.0.0/8, fd00::/8]", "[10.0.0.0/99]", &["10.0.0.0/99"]);
    check_refused("[10.0.0.0/8, fd00::/8]", "[]", &["empty"]);
    check_refused("effect: read", "effect: reads", &["unknown effect", "one of read, update, detach, write, delete"]);
    check_refused("[Describe*]", "['Describe Instances']", &["no pattern for operations", "Describe*"]);
    check_refused("[if-match]", "[if-none-match]", &["unknown requirement", "write if-match"]);
    check_refused("operation: { parameter: Action }", "operation: { body: Action }", &["body", "parameter"]);
}

#[test]
fn settings_are_flat() {
    check_refused("region: nyc3", "region: { slug: nyc3 }", &["line 6", "no list or map"]);
    check_refused("region: nyc3", "region: [nyc3]", &["line 6"]);
    check_refused("region: nyc3", "region: null", &["line 6"]);
}

#[test]
fn provider_id_prefixes_are_pinned() {
    assert!(CloudConfig::parse(&example()).unwrap().provider_id_prefixes.is_empty());
    let pinned = "  providerIDPrefixes: ['digitalocean://']\n  nodeLabels:";
    let config = CloudConfig::parse(&example().replacen("  nodeLabels:", pinned, 1)).unwrap();
    assert_eq!(config.provider_id_prefixes, ["digitalocean://"]);
    let without_scheme = "  providerIDPrefixes: ['']\n  nodeLabels:";
    let config = CloudConfig::parse(&example().replacen("  nodeLabels:", without_scheme, 1)).unwrap();
    assert_eq!(config.provider_id_prefixes, [""]);
}

#[test]
fn one_module_is_loaded() {
    check_refused("    configMap:", "    file: { path: /p, sha256: 00 }\n    configMap:", &["is not a SHA-256"]);
    let file = format!("    file: {{ path: /p, sha256: {SHA256} }}\n    configMap:");
    check_refused("    configMap:", &file, &["both", "one of them"]);
    let line = format!("    configMap: {{ name: digitalocean-provider, key: provider.wasm, sha256: {SHA256} }}");
    check_refused(&format!("  module:\n{line}"), "  module: {}", &["provider.module", "configMap", "file"]);
}

#[test]
fn a_config_that_is_not_yaml_or_not_there_is_named() {
    assert!(CloudConfig::parse("provider: [").is_err());
    assert!(CloudConfig::parse("").is_err());
    let error = CloudConfig::read(Path::new("/nowhere/cloud.yaml")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read --cloud-config /nowhere/cloud.yaml; look"), "{error}");
}

/// The example with its module in a registry.
fn in_registry(change: &str) -> String {
    let line = format!("    configMap: {{ name: digitalocean-provider, key: provider.wasm, sha256: {SHA256} }}");
    example().replacen(&line, change, 1)
}

fn registry(text: &str) -> Result<oci::ModuleSettings, String> {
    CloudConfig::parse(&in_registry(text)).map(|config| match config.source {
        ModuleSource::Registry(settings) => *settings,
        ModuleSource::Local(source) => panic!("{source}"),
    })
}

#[test]
fn a_module_in_a_registry_is_read() {
    let digest = format!("sha256:{SHA256}");
    let previous = "7".repeat(64);
    let settings = registry(&format!(
        "    oci:
      image: registry.example.com:5000/acme/provider:1.2.0
      digest: {digest}
      login: {{ file: /etc/aerostat/registry/.dockerconfigjson }}
      tokenServices: [auth.example.com, '10.0.0.7:8443']
      addresses: [10.0.0.0/8]
      tls: {{ caFile: /etc/aerostat/registry-ca.pem }}
      previous: sha256:{previous}
    signedBy: {{ keys: [/etc/aerostat/acme.pub], as: upstream.example.com/acme/provider }}"
    ))
    .unwrap();
    assert_eq!(settings.image.to_string(), "registry.example.com:5000/acme/provider:1.2.0");
    assert_eq!((settings.digest.to_string(), settings.previous.unwrap().to_string()), (SHA256.to_owned(), previous));
    assert_eq!(settings.login, Some(PathBuf::from("/etc/aerostat/registry/.dockerconfigjson")));
    assert_eq!(settings.token_services.len(), 2);
    assert_eq!(settings.addresses, AllowedAddresses::Networks(vec!["10.0.0.0/8".parse().unwrap()]));
    assert_eq!(settings.ca_file, Some(PathBuf::from("/etc/aerostat/registry-ca.pem")));
    let signed_by = settings.signed_by.unwrap();
    assert_eq!(signed_by.keys, [PathBuf::from("/etc/aerostat/acme.pub")]);
    assert_eq!(signed_by.name.as_deref(), Some("upstream.example.com/acme/provider"));

    let little = registry(&format!("    oci: {{ image: registry.example.com/a, digest: {digest} }}")).unwrap();
    assert_eq!((little.addresses, little.login, little.signed_by), (AllowedAddresses::Public, None, None));
}

#[test]
fn a_registry_that_contradicts_itself_is_refused() {
    let image = "image: registry.example.com/acme/provider";
    for (text, parts) in [
        (format!("    oci: {{ {image} }}"), &["digest", "line"][..]),
        (format!("    oci: {{ {image}, digest: latest }}"), &["is not a SHA-256"]),
        (format!("    oci: {{ image: acme/provider, digest: {SHA256} }}"), &["does not begin with the host"]),
        (format!("    oci: {{ {image}, digest: {SHA256}, tag: 1 }}"), &["tag", "digest"]),
        (
            format!("    oci: {{ {image}, digest: {SHA256}, tokenServices: ['https://a.example.com'] }}"),
            &["write it alone"],
        ),
        (format!("    oci: {{ {image}, digest: {SHA256} }}\n    signedBy: {{ keys: [] }}"), &["keys is empty"]),
        (
            format!("    oci: {{ {image}, digest: {SHA256} }}\n    file: {{ path: /p, sha256: {SHA256} }}"),
            &["oci and something else"],
        ),
        (
            format!("    file: {{ path: /p, sha256: {SHA256} }}\n    signedBy: {{ keys: [/acme.pub] }}"),
            &["signedBy is only for oci"],
        ),
    ] {
        let error = registry(&text).expect_err(&text);
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in the error for {text}:\n{error}");
        }
    }
}

/// Cases: bad-artifact
#[test]
fn bad_input_previous_equal_to_digest() {
    let text = format!("    oci: {{ image: a.example.com/a, digest: {SHA256}, previous: 'sha256:{SHA256}' }}");
    let error = registry(&text).unwrap_err();
    assert!(error.contains("previous is the same as digest; write the version before it"), "{error}");
}

#[test]
fn adv_164_the_content_of_a_rule_is_said_without_doubt() {
    let delete = "{ methods: [POST, PUT, DELETE], paths: [/v2/load_balancers/**] }";
    let changed = |keys: &str| format!("{{ methods: [PUT], paths: [/v2/load_balancers/**], {keys} }}");
    for (keys, parts) in [
        ("fields: []", ["allow[1]", "names nothing"]),
        ("body: {}", ["allow[1]", "names nothing"]),
        ("body: { type: [att*] }", ["endpoint api", "write each in full"]),
        ("fields: [type], body: { type: [attach] }", ["endpoint api", "name it once"]),
        ("where: {}", ["allow[1]", "write only: [] to let nothing stand"]),
        ("where: { Id: [] }", ["endpoint api", "says of Id no value"]),
        ("only: ['']", ["endpoint api", "is no pattern"]),
        ("fields: [port.*]", ["endpoint api", "is no member of a JSON body"]),
        ("where: { Id: i-* }", ["line", "column"]),
        ("member: [a]", ["member", "fields"]),
    ] {
        check_refused(delete, &changed(keys), &parts);
    }
    let config = CloudConfig::parse(&example().replace(delete, &changed("only: []"))).unwrap();
    assert!(!config.endpoints[0].allow[1].content.is_open(), "nothing may stand");
}

#[test]
fn adv_158_configs_cost_no_more_than_their_bytes() {
    let pieces: [&[u8]; 12] = [
        b"a: b\n",
        b"- ",
        b"[",
        b"{",
        b"]",
        b"a: &a [",
        b"*a, ",
        b"&b [*a, *a, *a, *a, *a, *a, *a, *a]\n",
        b"  ",
        b"\"",
        b"|\n",
        b"endpoints:\n  - name: a\n",
    ];
    let line = measured_work::Line { nanoseconds: 20_000, memory: 512 };
    measured_work::fuzz("configs", line, &pieces, |text| {
        let text = String::from_utf8_lossy(text);
        for head in ["", "provider:\n  settings:\n    ", "endpoints: ["] {
            let text = format!("apiVersion: aerostat.dev/v1alpha1\nkind: CloudConfig\n{head}{text}");
            drop(CloudConfig::parse(&text));
        }
    });
}
