//! Wrong arguments of each command: the object, the cause and the next step in one line, and the exit code.

use tests::folder::Folder;
use tests::guests;

use crate::setup::{aerostat, flag, says};

/// Cases: bad-provider-command
#[tokio::test]
async fn bad_input_of_each_command_about_providers() {
    let folder = Folder::new();
    let (missing, text) = (folder.path("missing.wasm"), folder.write("list.json", "[1"));
    let (missing, list) = (missing.display().to_string(), format!("@{}", text.display()));
    let config = flag("cloud-config", &folder.write("cloud.yaml", "kind: Pod\n"));
    let nowhere = flag("cloud-config", &folder.path("none.yaml"));
    let good = crate::setup::ends(0, &["provider", "describe", guests::ACME]).await;
    let good = good.replace("https://api.acme.example", "http://127.0.0.1:1");
    let token = folder.write("token", "token-of-acme\n");
    let good = good.replace("/etc/aerostat/token", &token.display().to_string());
    let good = flag("cloud-config", &folder.write("good.yaml", good));
    let gone = crate::setup::ends(0, &["provider", "describe", guests::ACME]).await;
    let gone = flag("cloud-config", &folder.write("gone.yaml", gone));
    let (acme, uid) = (guests::ACME, "--cluster-uid=u");
    for (arguments, parts) in [
        (&["provider", "check", &missing][..], &["cannot read ", "missing.wasm; correct the path"][..]),
        (&["provider", "check", acme, &nowhere], &["cannot read --cloud-config", "none.yaml"]),
        (&["provider", "check", acme, &config], &["cannot use --cloud-config", "cloud.yaml"]),
        (&["provider", "describe", &missing], &["missing.wasm; correct the path"]),
        (&["provider", "describe", acme, "--format=poem"], &["'poem'", "--format"]),
        (
            &["provider", "describe", acme, "--format=admission-policy"],
            &["describes no annotation", "leave the policy out"],
        ),
        (&["module", "diff", acme, &missing], &["missing.wasm; correct the path"]),
        (&["module", "diff", acme, "acme"], &["names no repository"]),
        (&["module", "diff", acme], &["<NEW>"]),
        (&["provider", "build", &missing], &["missing.wasm has no Cargo.toml and no go.mod; name the folder"]),
        (&["provider", "call", acme, "instances.get", "{}"], &["--cloud-config"]),
        (&["provider", "call", acme, "instances.find", &good], &["\"instances.find\" is no function", "write one of"]),
        (
            &["provider", "call", acme, "instances.get", &good],
            &["the argument of instances.get is missing", "'{\"name\": \"web-1\"}'"],
        ),
        (
            &["provider", "call", acme, "instances.get", "{", &good],
            &["the argument of instances.get is no JSON", "write it as in"],
        ),
        (&["provider", "call", acme, "instances.get", &list, &good], &["list.json of instances.get is no JSON"]),
        (&["provider", "call", acme, "instances.get", "@/nowhere", &good], &["cannot read /nowhere; correct the path"]),
        (&["provider", "call", acme, "instances.canonical-ids", "[1]", &good], &["cannot be read", "'[\"acme://1\"]'"]),
        (
            &[
                "provider",
                "call",
                acme,
                "load-balancers.ensure",
                "{\"owner\":{\"name\":\"a\",\"uid\":\"u\"},\"size\":1}",
                uid,
                &good,
            ],
            &["unknown field `size`", "write it as in"],
        ),
        (
            &["provider", "call", acme, "load-balancers.ensure", "{}", &good],
            &["add --cluster-uid=$(kubectl get namespace"],
        ),
        (
            &["provider", "call", acme, "routes.list", uid, &good],
            &["acme exports no routes", "aerostat provider check"],
        ),
        (&["provider", "call", &missing, "provider.identity", &good], &["missing.wasm; correct the path"]),
        (
            &["provider", "call", acme, "provider.identity", &gone],
            &["cannot use --cloud-config", "/etc/aerostat/token"],
        ),
        (&["provider", "cook"], &["has no command \"cook\"", "describe"]),
    ] {
        let ended = aerostat(arguments).await;
        let code = if arguments == ["provider", "cook"] { 1 } else { 2 };
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{arguments:?}: {ended:?}");
        says(&ended.errors, parts);
        let is_claps = ended.errors.contains("For more information");
        assert!(is_claps || ended.errors.trim_end().lines().count() == 1, "{arguments:?}: {ended:?}");
    }
}

#[tokio::test]
async fn help_teaches_by_example_and_tells_exit_codes() {
    for command in [
        &["provider", "build"][..],
        &["provider", "call"],
        &["provider", "check"],
        &["provider", "conformance"],
        &["provider", "describe"],
        &["provider", "new"],
        &["module", "diff"],
    ] {
        let ended = aerostat(&[command, &["--help"]].concat()).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        says(
            &ended.out,
            &["Examples:\n", &format!("  aerostat {} {} ", command[0], command[1]), "Exit code: 0", "--output"],
        );
    }
    let ended = aerostat(&["completions", "bash"]).await;
    for words in ["--dry-run", "--cluster-uid", "describe", "diff"] {
        says(&ended.out, &[words]);
    }
}
