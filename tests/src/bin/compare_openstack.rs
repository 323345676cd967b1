//! `make compare-openstack MANAGER=program`: OpenStack's own controller manager plays the recorded stories against the simulated region.
//!
//! It is in no registry: somebody has to have it. What differs from the recordings is a fault of the simulator, or another version.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for a person")]

use std::path::PathBuf;
use std::process::ExitCode;

use tests::openstack_vendor::Stage;
use tests::openstack_vendor::story::stories;

#[tokio::main]
async fn main() -> ExitCode {
    let Some(program) = manager() else {
        eprintln!(
            "error: there is no program to play with.\nNext step: make compare-openstack MANAGER=/path/to/openstack-cloud-controller-manager"
        );
        return ExitCode::FAILURE;
    };
    let mut differences = 0;
    for story in stories() {
        println!("\n==> {}", story.name);
        let stage = Stage::with(&story, Some(&program)).await;
        let compared = stage.play(&[story], &[], |line| println!("{line}")).await;
        stage.end().await;
        compared.wrong.iter().for_each(|it| println!("{it}"));
        differences += compared.wrong.len();
    }
    println!("\n{differences} differences from the recordings");
    if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::disallowed_methods, reason = "a person names the program that is to play")]
fn manager() -> Option<PathBuf> {
    std::env::var_os("MANAGER").map(PathBuf::from).filter(|it| it.is_file())
}
