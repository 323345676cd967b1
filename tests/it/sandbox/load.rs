//! Modules that cannot be loaded, and the messages that an operator reads then.

use std::net::SocketAddr;

use prometheus::Registry;
use tests::component;

use crate::setup::Guest;

const MODULE: &str = "module in ConfigMap kube-system/provider, key provider.wasm";

async fn check(guest: Guest, expected: &str) {
    assert_eq!(guest.refusal().await, expected);
}

#[tokio::test]
async fn bytes_that_are_no_component_are_refused() {
    for (bytes, what) in [
        (b"".to_vec(), "empty"),
        (b"#!/bin/sh\nexit 0\n".to_vec(), "no WebAssembly"),
        (wat::parse_str("(module)").unwrap(), "a core WebAssembly module"),
    ] {
        let expected = format!("{MODULE} is {what}, not a WebAssembly component; build it with --target wasm32-wasip2");
        check(Guest::of(bytes), &expected).await;
    }
}

#[tokio::test]
async fn a_damaged_component_is_refused() {
    let mut bytes = component::only_provider();
    bytes.truncate(bytes.len() / 2);
    let text = Guest::of(bytes).refusal().await;
    let expected = "cannot be compiled: it is damaged, or uses WebAssembly features that Aerostat does not enable: ";
    assert!(text.starts_with(&format!("{MODULE} {expected}")), "{text}");
}

#[tokio::test]
async fn features_that_nobody_needs_are_off() {
    for items in [
        "(memory i64 1)",
        "(func $again (return_call $again))",
        "(type (struct))",
        "(tag)",
        "(func (param v128) (drop (i8x16.relaxed_swizzle (local.get 0) (local.get 0))))",
        "(func (drop (ref.as_non_null (ref.null func))))",
    ] {
        let text = Guest::of(component::provider(items, "(i32.const 64)")).refusal().await;
        assert!(text.contains("cannot be compiled"), "{items}: {text}");
    }
}

#[tokio::test]
async fn an_import_that_is_not_offered_is_refused_by_name() {
    let world = "
        package test:guest;
        world guest { import evil:host/exec@1.0.0; export aerostat:cloud/provider@0.1.0; }
        package evil:host@1.0.0 { interface exec { run: func(); } }
    ";
    let module = r#"(module
        (import "evil:host/exec@1.0.0" "run" (func))
        (memory (export "memory") 1)
        (func (export "aerostat:cloud/provider@0.1.0#describe") (result i32) (i32.const 0))
        (func (export "aerostat:cloud/provider@0.1.0#identity") (result i32) (i32.const 0)))"#;
    let expected = format!(
        "{MODULE} imports evil:host/exec@1.0.0, which Aerostat does not offer; a provider reaches its cloud through \
         aerostat:cloud/http and nothing else, so remove the dependency that needs it"
    );
    check(Guest::of(component::component(world, module)), &expected).await;
}

#[tokio::test]
async fn adv_45_sockets_are_not_offered() {
    let world = "
        package test:guest;
        world guest { import wasi:sockets/instance-network@0.2.0; export aerostat:cloud/provider@0.1.0; }
        package wasi:sockets@0.2.0 { interface instance-network { open: func() -> u32; } }
    ";
    let module = r#"(module
        (import "wasi:sockets/instance-network@0.2.0" "open" (func (result i32)))
        (memory (export "memory") 1)
        (func (export "aerostat:cloud/provider@0.1.0#describe") (result i32) (i32.const 0))
        (func (export "aerostat:cloud/provider@0.1.0#identity") (result i32) (i32.const 0)))"#;
    let text = Guest::of(component::component(world, module)).refusal().await;
    assert!(text.starts_with(&format!("{MODULE} imports wasi:sockets/instance-network@0.2.0, ")), "{text}");
}

#[tokio::test]
async fn another_version_of_the_contract_is_refused() {
    let world = "
        package test:guest;
        world guest { export aerostat:cloud/provider@0.2.0; }
        package aerostat:cloud@0.2.0 { interface provider { describe: func(); } }
    ";
    let module = r#"(module (func (export "aerostat:cloud/provider@0.2.0#describe")))"#;
    let expected = format!(
        "{MODULE} is built for aerostat:cloud/provider@0.2.0, and this Aerostat knows 0.1; use an SDK and an Aerostat \
         of one version"
    );
    check(Guest::of(component::component(world, module)), &expected).await;
}

#[tokio::test]
async fn another_shape_of_the_contract_is_refused() {
    let world = "
        package test:guest;
        world guest { export aerostat:cloud/provider@0.1.9; }
        package aerostat:cloud@0.1.9 { interface provider { describe: func() -> u32; } }
    ";
    let module = r#"(module (func (export "aerostat:cloud/provider@0.1.9#describe") (result i32) (i32.const 0)))"#;
    let text = Guest::of(component::component(world, module)).refusal().await;
    let expected =
        format!("{MODULE} does not fit the contract aerostat:cloud@0.1; build it with an SDK of this version: ");
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn a_component_without_provider_is_refused() {
    let world = "package test:guest; world guest { export run: func(); }";
    let module = r#"(module (func (export "run")))"#;
    let expected = format!(
        "{MODULE} does not export aerostat:cloud/provider, so it is no provider; export it with the SDK's macro"
    );
    check(Guest::of(component::component(world, module)), &expected).await;
}

#[tokio::test]
async fn a_provider_that_can_do_nothing_is_loaded() {
    let provider = Guest::of(component::only_provider()).try_load(&Registry::new()).await.unwrap();
    assert_eq!(provider.description().name, "minimal");
    assert!(provider.cloud().instances.is_none());
    assert!(provider.cloud().load_balancers.is_none());
}

#[tokio::test]
async fn a_provider_that_refuses_to_start_says_why() {
    let guest = Guest::of(component::provider("", "(i32.const 256)"));
    check(guest, &format!("{MODULE} does not start: refused")).await;
}

#[tokio::test]
async fn a_provider_that_misbehaves_at_the_start_is_stopped() {
    for (crime, expected) in [
        ("spin", "was stopped after 500ms of CPU time (provider.limits.cpu)"),
        ("eat-memory", "was stopped: it wanted more than 65536 KiB of memory (provider.limits.memory)"),
    ] {
        let text = format!("{MODULE} does not start: describe {expected}");
        check(Guest::hostile().setting("describe", crime), &text).await;
    }
    let text = Guest::hostile().setting("describe", "panic").refusal().await;
    let trap =
        "describe crashed: wasm trap: wasm `unreachable` instruction executed; the last that it printed: thread ";
    assert!(text.starts_with(&format!("{MODULE} does not start: {trap}")) && text.contains(" panicked at "), "{text}");
}

#[tokio::test]
async fn there_is_no_http_while_describing() {
    let guest =
        Guest::hostile().setting("describe", "fetch:api").endpoint("api", SocketAddr::from(([127, 0, 0, 1], 9)));
    let text = guest.refusal().await;
    let expected = format!("{MODULE} does not start: GET /hostile at endpoint api: E-EGRESS-READONLY: ");
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn a_setting_that_is_not_described_is_refused() {
    check(
        Guest::hostile().setting("regoin", "nyc3"),
        "provider hostile has no setting \"regoin\"; correct provider.settings: it knows describe, identity, list, \
         class.*.size, machines, load-balancers, writers, endpoint, get-batch, requires",
    )
    .await;
}

#[tokio::test]
async fn a_setting_of_a_name_that_the_operator_chooses_is_taken() {
    drop(Guest::hostile().setting("class.gold.size", "2").load().await);
    let text = Guest::hostile().setting("class.gold.colour", "2").refusal().await;
    assert!(text.contains("has no setting \"class.gold.colour\""), "{text}");
}

#[tokio::test]
async fn a_pattern_that_stands_for_everything_is_refused() {
    for (crime, expected) in [
        ("any-annotation", "\"kubernetes.io/*\" is no pattern for annotation keys"),
        ("any-setting", "a setting is called \"*\""),
        ("select-many", "its setting \"class.*.nodes\" selects nodes, and there would be several selectors"),
    ] {
        let text = Guest::hostile().setting("describe", crime).refusal().await;
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn claims_that_nobody_may_make_are_refused() {
    for (crime, expected) in [
        ("select-twice", "several of its settings select nodes"),
        ("own-finalizer", "\"service.kubernetes.io/load-balancer-cleanup\" is no finalizer of an earlier controller"),
        ("kubernetes-finalizer", "\"foregroundDeletion\" is no finalizer of an earlier controller"),
        ("any-config-map", "\"kube-system//id\" is no \"namespace/name/key\" of a ConfigMap"),
    ] {
        let text = Guest::hostile().setting("describe", crime).refusal().await;
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_missing_setting_is_named() {
    check(
        Guest::hostile().setting("requires", "region"),
        "provider hostile needs the setting \"region\" (Whatever it is.); add it to provider.settings",
    )
    .await;
}

#[tokio::test]
async fn a_missing_endpoint_is_named() {
    check(
        Guest::hostile().setting("endpoint", "api"),
        "provider hostile needs the endpoint \"api\" (mischief); add it to endpoints, for instance with baseUrl \
         https://api.example.com, and with allow: []",
    )
    .await;
}
