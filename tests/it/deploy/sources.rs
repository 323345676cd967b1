//! The folder of the sources, as whoever publishes a release has it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pack::PackedFile;
use tests::aerostat::binary;
use tests::folder::Folder;

use crate::setup::deploy;

/// A folder with our scripts, and with nothing built.
pub(crate) struct Sources {
    pub(crate) folder: Folder,
    /// The folder of the release.
    pub(crate) release: PathBuf,
    version: &'static str,
}

/// The program of a release for this machine.
const OWN: &str = if cfg!(target_arch = "aarch64") { "aerostat-linux-arm64" } else { "aerostat-linux-amd64" };

impl Sources {
    pub(crate) fn new(version: &'static str) -> Self {
        let folder = Folder::new();
        let release = folder.path("target/release-artifacts").join(version);
        for path in [folder.path("deploy"), folder.path("providers/minimal"), release.clone()] {
            std::fs::create_dir_all(path).unwrap();
        }
        for script in ["Makefile", "deploy/release.sh", "deploy/publish.sh"] {
            std::fs::copy(deploy().join("..").join(script), folder.path(script)).unwrap();
        }
        folder.write("Cargo.toml", format!("[workspace.package]\nversion = \"{version}\"\n"));
        folder.write("providers/minimal/Cargo.toml", "");
        Self { folder, release, version }
    }

    /// Runs a script of `deploy/`.
    pub(crate) fn run(&self, script: &str, arguments: &[&str], variables: &[(&str, &Path)]) -> Output {
        let mut command = Command::new(self.folder.path("deploy").join(script));
        command.args(arguments).envs(variables.iter().copied()).output().unwrap()
    }

    /// Puts a packed release there, with the program of the tests.
    pub(crate) fn release(&self, packed: &[PackedFile]) {
        for file in packed {
            file.write(&self.release).unwrap();
        }
        symlink(binary().unwrap(), self.release.join(OWN)).unwrap();
        let bundle = format!("aerostat-bundle-{}.tar", self.version);
        let sums = Command::new("sha256sum").args([OWN, &bundle]).current_dir(&self.release).output().unwrap();
        std::fs::write(self.release.join("SHA256SUMS"), sums.stdout).unwrap();
    }
}
