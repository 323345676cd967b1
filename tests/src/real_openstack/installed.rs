//! The installation that `tests/openstack/build.sh` makes, and the folder of the one that runs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// `target/openstack`, and in it the folder `run` of the stack that runs. It is held until it is dropped.
#[derive(Debug)]
pub(super) struct Installed {
    root: PathBuf,
    /// Locked as long as the stack runs: there is one folder.
    _lock: File,
}

impl Installed {
    /// Makes the folder `run` new, with databases that are empty.
    ///
    /// # Panics
    ///
    /// Panics if `make openstack` has not been made, or if another stack runs.
    pub(super) fn take() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/openstack");
        assert!(root.join(".built-from").is_file(), "there is no {}. Next step: make openstack", root.display());
        let root = root.canonicalize().expect("the folder is there");
        let lock = File::create(root.join("lock")).expect("a file under target/");
        lock.try_lock().expect("no other test-openstack runs from this folder");
        let run = root.join("run");
        if run.exists() {
            fs::remove_dir_all(&run).expect("the folder of the run before can go");
        }
        copy(&root.join("empty"), &run);
        let installed = Self { root, _lock: lock };
        let of_glance = ["glance/images", "glance/staging", "glance/tasks"];
        for folder in ["conf", "nova", "neutron", "octavia", "cinder", "logs"].into_iter().chain(of_glance) {
            fs::create_dir_all(installed.run(folder)).expect("a folder under target/");
        }
        installed
    }

    /// A path in the folder of this run.
    pub(super) fn run(&self, path: &str) -> PathBuf {
        self.root.join("run").join(path)
    }

    /// A program of the virtual environment.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.root.join("env/bin").join(name)
    }

    /// A path of what came out of Debian's packages.
    pub(super) fn debian(&self, path: &str) -> PathBuf {
        self.root.join("debian").join(path)
    }

    /// The folder of the libraries that came out of Debian's packages.
    pub(super) fn libraries(&self) -> PathBuf {
        self.debian(&format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH))
    }

    /// The virtual environment.
    pub(super) fn environment(&self) -> PathBuf {
        self.root.join("env")
    }
}

/// Copies what is in a folder, and its folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder under target/");
    for entry in fs::read_dir(from).expect("the folder is there").map(|it| it.expect("the folder can be read")) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file under target/");
        }
    }
}
