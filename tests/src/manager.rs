//! The manager that plays a story: a vendor's own program, or aerostat.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::control_plane::Cluster;
use crate::folder::Folder;
use crate::loopback::Program;
use crate::operator::{Process, Setup};

/// Which of the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Who {
    /// The vendor's own.
    Vendor,
    /// Ours.
    Aerostat,
}

/// One of them at work. Dropping it ends it.
pub enum Manager {
    /// The vendor's own.
    Vendor(VendorManager),
    /// Ours, with its files where nobody else keeps them.
    Aerostat(Process, Option<Box<Setup>>),
}

/// A vendor's own program, and its files.
pub struct VendorManager {
    // First: the program ends before its folder goes.
    _program: Program,
    folder: Folder,
}

/// The log in the folder of a vendor's program.
const LOG: &str = "manager.log";
/// How much of it a failure shows.
const TAIL: usize = 6_000;

impl Manager {
    /// Which of the two it is.
    #[must_use]
    pub fn who(&self) -> Who {
        match self {
            Self::Vendor(_) => Who::Vendor,
            Self::Aerostat(..) => Who::Aerostat,
        }
    }

    /// Ends it, and waits until it has ended.
    pub async fn stop(self) {
        match self {
            Self::Vendor(manager) => drop(manager),
            Self::Aerostat(process, _setup) => process.stop().await,
        }
    }

    /// The end of what the vendor's own has said. Aerostat says it in events.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let Self::Vendor(VendorManager { folder, .. }) = self else { return String::new() };
        let log = std::fs::read(folder.path(LOG)).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(TAIL)..]).into_owned()
    }
}

impl VendorManager {
    /// Starts a program for a cluster. Its files, also its log, are in the folder.
    ///
    /// # Panics
    ///
    /// Panics if it does not start.
    pub(crate) fn start(
        program: &Path,
        folder: Folder,
        cluster: &Cluster,
        arguments: &[String],
        environment: &[(&str, &OsStr)],
    ) -> Self {
        let mut all = vec![
            format!("--kubeconfig={}", cluster.control_plane.admin_kubeconfig().display()),
            "--secure-port=0".to_owned(),
            "--leader-elect=false".to_owned(),
        ];
        all.extend(arguments.iter().cloned());
        let program = Program::start(program, &all, environment, Some(&folder.path(LOG)));
        Self { _program: program, folder }
    }
}

/// The program of a vendor that `make TARGET` has built: it is in the folder of the target's name.
///
/// # Panics
///
/// Panics if it has not been built.
pub(crate) fn built(target: &str, program: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(target).join(program);
    assert!(program.is_file(), "there is no {}. Next step: make {target}", program.display());
    program
}
