//! Rights that the compiler's process gives up before it looks at a module, so that a module that takes the compiler over
//! finds nothing there: no file, no network, no other program.
//!
//! Descriptors that it has inherited are closed first. Then come three layers, because not every kernel has each: Landlock refuses
//! files, seccomp every system call that a compiler does not need, and a limit of no further file descriptors works
//! everywhere. What is said to be missing is not what the kernel answered when it was asked, but what was then tried and
//! succeeded.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::Command;

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, Scope};
use rustix::process::{Resource, Rlimit, getpid, getrlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use wasmtime::Error;

use crate::compile_limits::CompileLimits;

/// Leaves the process its input, its output and its errors. Where it has inherited more, it starts again without that.
///
/// # Errors
///
/// If it cannot find out what is open, or cannot start again.
pub(super) fn close_inherited() -> io::Result<()> {
    // The fourth is that of this list.
    if fs::read_dir("/proc/self/fd")?.count() <= 4 {
        return Ok(());
    }
    // A descriptor may be closed only where nothing uses it: the next program uses none.
    close_fds::set_fds_cloexec(3, &[]);
    Err(Command::new("/proc/self/exe").args(std::env::args_os().skip(1)).exec())
}

/// Limits the process, and makes it the first to go where memory runs out.
///
/// # Errors
///
/// If the kernel refuses a limit.
pub(super) fn limit(limits: &CompileLimits) -> Result<(), Error> {
    // Where it cannot be written, the kernel chooses by size, as it does without.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    set(Resource::Core, 0, 0)?;
    set(Resource::Fsize, 0, 0)?;
    set(Resource::As, limits.memory, limits.memory)?;
    // The first is a signal that says which limit it was, the second kills whoever ignores that.
    set(Resource::Cpu, limits.cpu, limits.cpu.saturating_add(1))?;
    Ok(())
}

/// Sets a limit for good, or leaves a lower one.
fn set(resource: Resource, current: u64, maximum: u64) -> io::Result<()> {
    let highest = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    setrlimit(resource, Rlimit { current: Some(current.min(highest)), maximum: Some(maximum.min(highest)) })?;
    Ok(())
}

/// Forbids this thread, and those that it starts, to open files, and to reach other processes. Returns what is missing.
pub(super) fn forbid_files() -> Option<String> {
    let asked = landlock();
    // Everybody may read this.
    let found = match File::open("/proc/self/status") {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
        Err(error) => format!("trying to open a file ended with: {error}"),
        Ok(_) => "it can open files".to_owned(),
    };
    let because = asked.err().map_or_else(|| "the kernel does not offer it".to_owned(), |it| it.to_string());
    Some(format!("Landlock is missing ({because}; {found}); it needs Linux 5.13 with landlock among the active LSMs"))
}

fn landlock() -> Result<(), landlock::RulesetError> {
    // The newest that was tried. An older kernel does what it can. First of all this gives up new privileges, as
    // seccompiler does.
    let abi = ABI::V6;
    Ruleset::default()
        .handle_access(AccessFs::from_all(abi))?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?
        .restrict_self()?;
    Ok(())
}

/// Forbids all threads every system call but those of a compiler. Returns what is missing.
pub(super) fn forbid_calls() -> Option<String> {
    // No further descriptors: neither files nor sockets, whatever the kernel offers. After Landlock, which needs one.
    let descriptors = set(Resource::Nofile, 0, 0).map_err(Error::from);
    let asked = descriptors.and_then(|()| Ok(seccompiler::apply_filter_all_threads(&filter()?)?));
    let tried = [
        ("open a socket", UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)),
        ("start a program", Command::new("/nowhere/program").spawn().map(drop)),
    ];
    let not_refused = |(what, result): (&str, io::Result<()>)| match result {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
        Err(error) => Some(format!("trying to {what} ended with: {error}")),
        Ok(()) => Some(format!("it can {what}")),
    };
    let found: Vec<_> = tried.into_iter().filter_map(not_refused).collect();
    if found.is_empty() {
        return None;
    }
    let because = asked.err().map_or_else(|| "the kernel does not offer it".to_owned(), |it| it.to_string());
    Some(format!("seccomp is missing ({because}; {}); it needs a kernel with CONFIG_SECCOMP_FILTER", found.join(", ")))
}

/// The system calls of a process that reads, computes and writes. Everything else fails with EPERM.
const CALLS: [i64; 32] = [
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_sysinfo,
    libc::SYS_write,
    libc::SYS_writev,
];

fn filter() -> Result<BpfProgram, Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = CALLS.into_iter().map(|call| (call, Vec::new())).collect();
    // Memory, but none that can be run: the compiler writes machine code, and never runs it.
    let not_executable = || only(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0);
    rules.insert(libc::SYS_mmap, vec![not_executable()?]);
    rules.insert(libc::SYS_mprotect, vec![not_executable()?]);
    // A process that aborts sends itself a signal.
    let own = getpid().as_raw_nonzero().get().cast_unsigned().into();
    rules.insert(libc::SYS_tgkill, vec![only(0, SeccompCmpOp::Eq, own)?]);
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(rules, refuse, SeccompAction::Allow, architecture)?.try_into()?)
}

/// A rule about one argument.
fn only(argument: u8, comparison: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)?])
}

#[cfg(test)]
mod tests;
