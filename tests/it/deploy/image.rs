//! `deploy/Dockerfile`: the image holds what the Pod and the binary look for.

use std::path::Path;

use k8s_openapi::api::apps::v1::Deployment;

use crate::setup::{container, object, template, text};

/// The instructions of the Dockerfile, of its last stage alone if that is asked for.
fn instructions(last_stage: bool) -> Vec<Vec<String>> {
    let text = text("Dockerfile");
    let lines = text.lines().filter(|it| !it.is_empty() && !it.starts_with('#'));
    let all: Vec<Vec<String>> = lines.map(|it| it.split_whitespace().map(str::to_owned).collect()).collect();
    let start = if last_stage { all.iter().rposition(|it| it[0] == "FROM").unwrap() } else { 0 };
    all[start..].to_vec()
}

/// What follows this word in the last stage.
fn only(word: &str) -> String {
    let all = instructions(true);
    let found: Vec<_> = all.iter().filter(|it| it[0] == word).collect();
    assert_eq!(found.len(), 1, "{word}: {found:?}");
    found[0][1..].join(" ")
}

#[test]
fn the_image_holds_the_program_and_the_authorities_alone() {
    assert_eq!(only("FROM"), "scratch");
    let all = instructions(true);
    let copied: Vec<_> = all.iter().filter(|it| it[0] == "COPY").map(|it| it.last().unwrap().as_str()).collect();
    let path = only("ENV").strip_prefix("PATH=").unwrap().to_owned();
    let command = container(&template()).command.unwrap();
    assert_eq!(command[0], "aerostat");
    let program = Path::new(&path).join(&command[0]);
    // The first place that the program looks at for certificate authorities.
    assert_eq!(copied, ["/etc/ssl/certs/ca-certificates.crt", program.to_str().unwrap()]);
    assert_eq!(only("ENTRYPOINT"), r#"["aerostat"]"#);
}

#[test]
fn the_images_user_is_the_pods() {
    let pod = object::<Deployment>("deployment.yaml").spec.unwrap().template.spec.unwrap();
    let security = pod.security_context.unwrap();
    let user = format!("{}:{}", security.run_as_user.unwrap(), security.run_as_group.unwrap());
    assert_eq!(only("USER"), user);
}

#[test]
fn the_image_is_built_with_the_rust_of_the_workspace() {
    let builder = instructions(false).into_iter().find(|it| it[0] == "ARG").unwrap().remove(1);
    let version = builder.split("rust:").nth(1).unwrap().split('-').next().unwrap().to_owned();
    let workspace = text("../Cargo.toml");
    let wanted = workspace.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(version.starts_with(&format!("{wanted}.")), "{builder} for Rust {wanted}");
}
