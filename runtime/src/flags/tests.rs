//! Command lines as operators write them, and the answers to them.

use std::time::Duration;

use super::*;

fn parse(flags: &[&str]) -> Result<RunSettings, FlagsError> {
    RunSettings::parse(["aerostat", "--cloud-config=/cloud.yaml"].iter().chain(flags))
}

fn accepted(flags: &[&str]) -> RunSettings {
    parse(flags).unwrap_or_else(|error| panic!("{flags:?} was refused: {error}"))
}

fn refused(flags: &[&str]) -> String {
    match parse(flags) {
        Ok(_) => panic!("{flags:?} was accepted"),
        Err(FlagsError::Asked(text)) => panic!("{flags:?} printed {text}"),
        Err(FlagsError::Invalid(sentence)) => sentence,
    }
}

#[test]
fn run_is_optional_and_underscores_are_dashes() {
    let long = RunSettings::parse(["aerostat", "run", "--cloud_config=/a_b.yaml", "--leader_elect=false"]).unwrap();
    assert_eq!(long.cloud_config, PathBuf::from("/a_b.yaml"));
    assert!(long.leader_election.is_none());
    let short = RunSettings::parse(["aerostat", "--cloud-config", "/a_b.yaml"]).unwrap();
    assert_eq!(short.cloud_config, PathBuf::from("/a_b.yaml"));
}

/// Cases: case 229
#[test]
fn defaults_are_upstreams_but_for_the_workers() {
    let settings = accepted(&[]);
    assert_eq!(settings.cluster_name, "kubernetes");
    assert_eq!((settings.node.syncs, settings.node.status_updates, settings.service.syncs), (10, 10, 10));
    assert_eq!(settings.node.status_update_frequency, Duration::from_secs(300));
    let election = settings.leader_election.unwrap();
    assert_eq!(election.lease_duration, Duration::from_secs(15));
    assert_eq!(election.renew_deadline, Duration::from_secs(10));
    assert_eq!(election.retry_period, Duration::from_secs(2));
    assert_eq!((election.namespace.as_str(), election.name.as_str()), ("kube-system", "cloud-controller-manager"));
    assert_eq!(settings.serving.unwrap().address.to_string(), "0.0.0.0:10258");
    assert_eq!(settings.api.limit, None);
    assert_eq!(settings.module_trial, Duration::from_secs(600));
    assert_eq!(settings.warnings, Vec::<String>::new());
}

#[test]
fn booleans_need_no_value_and_the_last_mention_counts() {
    assert!(accepted(&["--leader-elect"]).leader_election.is_some());
    assert!(accepted(&["--leader-elect=true", "--leader-elect=false"]).leader_election.is_none());
    assert!(refused(&["--leader-elect=perhaps"]).contains("--leader-elect"));
}

#[test]
fn lists_grow_with_every_mention() {
    let settings = accepted(&["--controllers=cloud-node", "--controllers=-route,service"]);
    assert!(settings.controllers.is_enabled(ControllerName::CloudNode));
    assert!(settings.controllers.is_enabled(ControllerName::Service));
    assert!(!settings.controllers.is_enabled(ControllerName::Route));
    assert!(!accepted(&["--controllers", "-cloud-node,*"]).controllers.is_enabled(ControllerName::CloudNode));
}

#[test]
fn verbosity_has_two_spellings() {
    for flags in [["-v=4"].as_slice(), &["-v4"], &["-v", "4"], &["--v=4"]] {
        assert_eq!(accepted(flags).log.verbosity, 4, "{flags:?}");
    }
}

#[test]
fn limits_hold_only_if_given() {
    assert_eq!(accepted(&["--kube-api-qps=5"]).api.limit, Some(RateLimit { per_second: 5.0, burst: 30 }));
    assert_eq!(accepted(&["--kube-api-burst=7"]).api.limit, Some(RateLimit { per_second: 20.0, burst: 7 }));
    assert_eq!(accepted(&["--kube-api-qps=-1", "--kube-api-burst=7"]).api.limit, None);
    assert!(refused(&["--kube-api-qps=0"]).contains("--kube-api-qps must be"));
    assert!(refused(&["--kube-api-burst=0"]).contains("--kube-api-burst must be"));
}

#[test]
fn help_teaches_and_version_is_one_line() {
    for flags in
        [["aerostat", "run", "--help"].as_slice(), &["aerostat", "-v=2", "--help"], &["aerostat", "help", "run"]]
    {
        let Err(FlagsError::Asked(help)) = RunSettings::parse(flags) else { panic!("{flags:?} printed nothing") };
        assert!(help.ends_with(".\n"), "a prompt belongs on a line of its own");
        for part in ["Example:", "--cloud-config", "Leader election:", "Health and metrics:", "[default: 15s]"] {
            assert!(help.contains(part), "{part} is not in\n{help}");
        }
        let (own, others) = help.split_once("have no effect here").unwrap();
        assert!(!own.contains("contention-profiling"), "flags without effect have a list of their own");
        assert!(others.contains("\n  --contention-profiling: there is no profiling\n"), "{others}");
    }
    for flags in [["aerostat", "--version"].as_slice(), &["aerostat", "-v=2", "--version"]] {
        let Err(FlagsError::Asked(version)) = RunSettings::parse(flags) else { panic!("no version") };
        assert_eq!(version.trim(), concat!("aerostat ", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn help_of_the_program_names_its_commands() {
    for flags in [["aerostat", "--help"], ["aerostat", "-h"], ["aerostat", "help"]] {
        let Err(FlagsError::Asked(help)) = RunSettings::parse(flags) else { panic!("{flags:?} printed nothing") };
        for part in ["Example:", "Commands:", "\n  run ", "Run the controllers of a cluster", "aerostat run --help"] {
            assert!(help.contains(part), "{part} is not in\n{help}");
        }
        assert!(!help.contains("compile-provider"), "nobody but aerostat starts that\n{help}");
        assert!(!help.contains("--leader-elect"), "the flags are those of run\n{help}");
    }
}

#[test]
fn unknown_commands_are_refused_with_the_known_ones() {
    for word in ["serve", "Run", "providers", "run=1"] {
        let Err(FlagsError::Invalid(sentence)) = RunSettings::parse(["aerostat", word, "--cloud-config=/c.yaml"])
        else {
            panic!("{word} was taken")
        };
        let expected = format!(
            "aerostat has no command \"{word}\"; its commands are: run, module, bundle, provider, completions, help. See aerostat --help"
        );
        assert_eq!(sentence, expected);
    }
}

#[test]
fn the_compiler_of_providers_is_a_command() {
    let arguments = ["aerostat", "compile-provider", "1048576", "memory=400000000"];
    let Ok(Invocation::CompileProvider(arguments)) = Invocation::parse(arguments) else { panic!("another command") };
    assert_eq!(arguments, ["1048576", "memory=400000000"]);
    assert!(RunSettings::parse(["aerostat", "compile-provider"]).is_err());
}

#[test]
fn an_unknown_flag_is_refused_with_the_nearest_one() {
    let sentence = refused(&["--leader-elekt=false"]);
    assert!(sentence.contains("--leader-elekt") && sentence.contains("--leader-elect"), "{sentence}");
    assert!(refused(&["serve"]).contains("\"serve\""));
    accepted(&[""]);
}

#[test]
fn a_known_flag_is_refused_unless_it_asks_for_nothing() {
    for flag in [
        "--permit-port-sharing",
        "--client-ca-file=/ca.crt",
        "--webhook-tls-sni-cert-key=a,b",
        "--tls-min-version=VersionTLS13",
        "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "--authentication-token-webhook-cache-ttl=5s",
        "--authorization-always-allow-paths=/healthz,/metrics",
    ] {
        let sentence = refused(&[flag]);
        let name = flag.split('=').next().unwrap();
        assert!(sentence.starts_with(name) && sentence.contains("known, but not supported yet"), "{sentence}");
        assert!(sentence.contains("Leave the flag out"), "{sentence}");
    }
    for flag in [
        "--allow-untagged-cloud",
        "--use-service-account-credentials=false",
        "--use-service-account-credentials",
        "--authorization-webhook-cache-authorized-ttl=5m",
        "--vmodule=node*=4",
        "--authentication-kubeconfig=/etc/kubeconfig",
        "--min-resync-period=12h",
        "--cloud-node-lifecycle-monitor-nodes-workers=5",
        "--authorization-always-allow-paths=/healthz,/readyz,/livez",
        "--kube-api-content-type=application/json",
        "--tls-min-version=VersionTLS12",
        "--profiling=false",
        "--webhooks=*",
        "--webhook-disable-http2-serving",
    ] {
        let warnings = accepted(&[flag]).warnings;
        assert_eq!(warnings.len(), 1, "{flag}: {warnings:?}");
        assert!(warnings[0].starts_with(flag.split('=').next().unwrap()), "{warnings:?}");
    }
}

#[test]
fn services_and_deletions_have_defaults_and_limits() {
    let settings = accepted(&[]);
    assert_eq!((settings.service.syncs, settings.service.retry_base_delay), (10, Duration::from_secs(5)));
    let lifecycle = settings.node_lifecycle;
    assert_eq!((lifecycle.monitor_period, lifecycle.warm_up), (Duration::from_secs(5), Duration::from_secs(60)));
    assert_eq!((lifecycle.grace_period, lifecycle.budget), (Duration::from_secs(300), 10));
    assert_eq!(lifecycle.budget_window, Duration::from_secs(600));
    assert_eq!(accepted(&["--concurrent-service-syncs=50"]).service.syncs, 50);
    for (flag, sentence) in [
        ("--concurrent-service-syncs=0", "concurrent-service-syncs must be a positive number"),
        ("--service-retry-base-delay=0s", "service-retry-base-delay must be a positive duration"),
        ("--node-monitor-period=0s", "node-monitor-period must be a positive duration"),
        ("--node-deletion-budget=101", "node-deletion-budget is a percentage"),
        ("--node-deletion-budget=-1", "node-deletion-budget is a percentage"),
    ] {
        assert!(refused(&[flag]).starts_with(sentence), "{flag}");
    }
}

#[test]
fn case_232_unknown_controllers_are_errors() {
    for flag in ["--controllers=nope", "--controllers=-nope"] {
        assert!(refused(&[flag]).starts_with("\"nope\" is not in the list of known controllers"));
    }
}

#[test]
fn case_234_only_leases_are_locks() {
    assert_eq!(refused(&["--leader-elect-resource-lock=endpoints"]), "resourceLock value must be \"leases\"");
    accepted(&["--leader-elect-resource-lock=endpoints", "--leader-elect=false"]);
}

#[test]
fn case_235_lease_times_that_cannot_work_are_errors() {
    for (flags, part) in [
        (["--leader-elect-lease-duration=10s"].as_slice(), "lease-duration must be greater"),
        (&["--leader-elect-retry-period=9s"], "1.2 times"),
        (&["--leader-elect-retry-period=0s"], "retry-period must be greater than zero"),
        (&["--leader-elect-resource-name="], "resource-name cannot be empty"),
        (&["--leader-elect-lease-duration=-1s"], "negative duration"),
    ] {
        assert!(refused(flags).contains(part), "{flags:?}");
        assert!(refused(flags).contains("leader-elect"), "{flags:?}");
    }
}

#[test]
fn case_250_worker_counts_are_checked() {
    for value in ["-5", "0"] {
        let flag = format!("--concurrent-node-syncs={value}");
        assert_eq!(refused(&[&flag]), "concurrent-node-syncs must be a positive number");
    }
    assert_eq!(accepted(&["--concurrent-node-syncs=1"]).node.status_updates, 1);
    for value in ["0", "5"] {
        let flag = format!("--concurrent-node-status-updates={value}");
        assert_eq!(accepted(&["--concurrent-node-syncs=5", &flag]).node.status_updates, 5);
    }
    assert_eq!(
        refused(&["--concurrent-node-status-updates=-1"]),
        "concurrent-node-status-updates cannot be a negative number"
    );
}

#[test]
fn errors_come_together() {
    let sentences = refused(&["--concurrent-node-syncs=0", "--secure-port=70000", "--permit-port-sharing=true"]);
    assert_eq!(sentences.lines().count(), 3, "{sentences}");
    assert!(sentences.contains("--secure-port 70000 must be between 0 and 65535"));
}

#[test]
fn a_certificate_comes_with_its_key() {
    assert!(refused(&["--tls-cert-file=/a.pem"]).contains("together"));
    let settings = accepted(&["--tls-cert-file=/a.pem", "--tls-private-key-file=/a.key", "--secure-port=0"]);
    assert!(settings.serving.is_none());
}

#[test]
fn the_file_is_required() {
    let Err(FlagsError::Invalid(sentence)) = RunSettings::parse(["aerostat", "run"]) else { panic!("accepted") };
    assert!(sentence.starts_with("--cloud-config cannot be empty"), "{sentence}");
}

fn invalid(arguments: &[&str]) -> String {
    match Invocation::parse(["aerostat"].iter().chain(arguments)) {
        Err(FlagsError::Invalid(text)) => text,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

fn asked(arguments: &[&str]) -> String {
    match Invocation::parse(["aerostat"].iter().chain(arguments)) {
        Err(FlagsError::Asked(text)) => text,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

#[test]
fn commands_about_modules_are_read() {
    let arguments =
        "module pull registry.example.com/a:1 -o a.wasm --key k.pub --key=l.pub --address 10.0.0.0/8,fd00::/8";
    let arguments: Vec<_> = ["aerostat"].into_iter().chain(arguments.split(' ')).collect();
    let Ok(Invocation::Module(command)) = Invocation::parse(&arguments) else { panic!("{arguments:?}") };
    let ModuleCommand::Pull(PullFlags { place, out, keys, registry, output, .. }) = *command else {
        panic!("{command:?}")
    };
    assert_eq!((place.as_str(), out), ("registry.example.com/a:1", PathBuf::from("a.wasm")));
    assert_eq!((keys.keys.len(), registry.addresses.len(), output), (2, 2, Output::Text));
}

#[test]
fn commands_about_modules_explain_themselves() {
    for command in ["inspect", "verify", "pull", "push", "diff"] {
        let help = asked(&["module", command, "--help"]);
        assert!(help.contains(&format!("\n  aerostat module {command} ")), "{help}");
    }
    let text = invalid(&["module", "inspekt"]);
    let known = "its commands are: inspect, verify, pull, push, diff. See aerostat module --help";
    assert!(text.starts_with("aerostat module has no command \"inspekt\"; ") && text.ends_with(known), "{text}");
    assert!(invalid(&["modules"]).contains("its commands are: run, module, bundle, provider, completions, help"));
    assert!(invalid(&["module"]).contains("Usage: aerostat module <COMMAND>"));
    assert!(invalid(&["module", "verify", "registry.example.com/a:1"]).contains("--key <FILE>"));
    assert!(invalid(&["module", "inspect", "a.wasm", "--signed-as=b"]).contains("--key <FILE>"));
}

#[test]
fn completions_are_of_what_help_shows() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = asked(&["completions", shell]);
        for word in ["inspect", "cloud-config", "signed-as", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        for word in ["compile-provider", "authentication-kubeconfig"] {
            assert!(!script.contains(word), "{shell}: {word}");
        }
    }
    assert!(invalid(&["completions", "cmd"]).contains("[possible values: bash, elvish, fish, powershell, zsh]"));
}
