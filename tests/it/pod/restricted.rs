//! The rights of the Pod's process on its machine, as the kernel has them.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use http::Method;
use tests::machine::RealMachine;
use tests::operator::ask;
use tests::pod::Site;

/// The user and the group of the image, as `/proc/…/status` has them four times.
const USER: &str = "65532\t65532\t65532\t65532";

/// The value of a name in `/proc/…/status`.
pub(crate) fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim()
}

/// The process of aerostat on a machine.
pub(crate) fn process(machine: &RealMachine) -> u32 {
    let all = machine.processes("aerostat");
    let [one] = all.as_slice() else { panic!("one process, not {all:?}") };
    *one
}

/// Asserts user, groups, capabilities, new privileges and the container runtime's filter of system calls.
pub(crate) fn processes_have_no_rights(site: &Site) {
    for machine in &site.machines {
        let status = fs::read_to_string(format!("/proc/{}/status", process(machine))).unwrap();
        let is = |name: &str| field(&status, name);
        assert_eq!((is("Uid"), is("Gid"), is("Groups")), (USER, USER, "65532"));
        assert_eq!(
            (is("CapEff"), is("CapPrm"), is("CapBnd")),
            ("0000000000000000", "0000000000000000", "0000000000000000")
        );
        assert_eq!((is("NoNewPrivs"), is("Seccomp"), is("Seccomp_filters")), ("1", "2", "1"));
    }
}

/// Asserts that the image cannot be written to, and who may read the token: this group alone.
pub(crate) fn files_are_readable_and_root_is_not_writable(site: &Site) {
    for machine in &site.machines {
        let root = PathBuf::from(format!("/proc/{}/root", process(machine)));
        let refused = File::create(root.join("written")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnlyFilesystem);
        for file in ["token", "token.origins", "cloud-ca.pem", "cloud.yaml"] {
            // The links of the volume lead to files beside them.
            let path = root.join("etc/aerostat/..data").read_link().unwrap();
            let file = fs::metadata(root.join("etc/aerostat").join(path).join(file)).unwrap();
            assert_eq!((file.mode() & 0o777, file.uid(), file.gid()), (0o440, 0, 65532));
        }
        let cache: Vec<_> = fs::read_dir(root.join("var/cache/aerostat")).unwrap().collect();
        assert!(!cache.is_empty(), "the module is kept");
    }
}

/// Asserts that each process answers its kubelet's probes, and says nothing to others.
pub(crate) async fn probes_are_answered(site: &Site) {
    for machine in &site.machines {
        for path in ["/healthz", "/readyz"] {
            assert_eq!(ask(machine.port(), Method::GET, path, None).await.code, 200, "{path}");
        }
        assert_eq!(ask(machine.port(), Method::GET, "/metrics", None).await.code, 403);
    }
}

/// Asserts that a machine that has ended has left nothing: processes, mounts, groups, files.
pub(crate) fn nothing_is_left(folder: &Path) {
    assert!(!folder.exists(), "{}", folder.display());
    let name = folder.file_name().unwrap().to_str().unwrap();
    assert!(!fs::read_to_string("/proc/mounts").unwrap().contains(name));
    let groups = fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let left: Vec<_> = groups.map(|it| it.path().join(name)).filter(|it| it.exists()).collect();
    assert_eq!(left, [""; 0].map(PathBuf::from));
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(name), "{}", process.path().display());
    }
}
