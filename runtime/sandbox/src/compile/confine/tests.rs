//! Which system calls the filter lets through.

use seccompiler::sock_filter;

use super::*;

const EXECUTABLE: u64 = libc::PROT_EXEC as u64;

/// The architecture that a call of this machine has, and another one that it can run as well.
const OWN: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
const FOREIGN: u32 = if cfg!(target_arch = "x86_64") { 0x4000_0003 } else { 0x4000_0028 };

/// The numbers of calls, and the same with the bit of x32, whose architecture is that of x86-64.
fn numbers() -> impl Iterator<Item = u32> {
    (0..1_024).chain(0x4000_0000..0x4000_0400)
}

/// The kernel's answer to a system call, as its interpreter of classic BPF finds it.
fn verdict(filter: &[sock_filter], number: u32, architecture: u32, arguments: [u64; 6]) -> u32 {
    // The number, the architecture, the place of the call, and the arguments: each of the latter in two words, the lower first.
    let words = arguments.iter().flat_map(|it| [*it as u32, (it >> 32) as u32]);
    let data: Vec<u32> = [number, architecture, 0, 0].into_iter().chain(words).collect();
    let (mut next, mut word) = (0, 0_u32);
    loop {
        let sock_filter { code, jt, jf, k } = filter[next];
        next += 1;
        let jump = |holds: bool| usize::from(if holds { jt } else { jf });
        match code {
            0x20 => word = data[k as usize / 4],
            0x54 => word &= k,
            0x05 => next += k as usize,
            0x15 => next += jump(word == k),
            0x25 => next += jump(word > k),
            0x35 => next += jump(word >= k),
            0x06 => return k,
            other => panic!("no filter of system calls has the instruction {other:#x}"),
        }
    }
}

/// The calls that are allowed with these arguments. All others are refused, and end nothing.
fn allowed(filter: &[sock_filter], arguments: [u64; 6]) -> Vec<i64> {
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    let is_allowed = |number: &u32| match verdict(filter, *number, OWN, arguments) {
        libc::SECCOMP_RET_ALLOW => true,
        other => {
            assert_eq!(other, refused, "call {number}");
            false
        }
    };
    numbers().filter(is_allowed).map(i64::from).collect()
}

fn own_process() -> u64 {
    u64::from(std::process::id())
}

#[test]
fn adv_172_the_compiler_has_these_calls_and_no_other() {
    let mut expected = vec![
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
    expected.sort_unstable();
    let filter = filter().unwrap();
    assert_eq!(allowed(&filter, [u64::MAX; 6]), expected, "whatever the arguments are");
    expected.extend([libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_tgkill]);
    expected.sort_unstable();
    assert_eq!(allowed(&filter, [own_process(), 0, 0, 0, 0, 0]), expected, "if its arguments are right, too");
}

#[test]
fn adv_172_no_memory_of_the_compiler_can_be_run() {
    let filter = filter().unwrap();
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let is_allowed = |protection| {
            [0, u64::MAX].map(|other| {
                let arguments = [other, other, protection, other, other, other];
                verdict(&filter, call as u32, OWN, arguments) == libc::SECCOMP_RET_ALLOW
            })
        };
        for executable in [EXECUTABLE, 7, EXECUTABLE | 1 << 32, u64::MAX] {
            assert_eq!(is_allowed(executable), [false; 2], "{call}: {executable:#x}");
        }
        for other in [0, 3, !EXECUTABLE] {
            assert_eq!(is_allowed(other), [true; 2], "{call}: {other:#x}");
        }
    }
}

#[test]
fn adv_172_the_compiler_signals_nobody_but_itself() {
    let filter = filter().unwrap();
    for (process, expected) in
        [(own_process(), true), (own_process() + 1, false), (1, false), (0, false), (u64::MAX, false)]
    {
        let found = verdict(&filter, libc::SYS_tgkill as u32, OWN, [process, process, 9, 0, 0, 0]);
        assert_eq!(found == libc::SECCOMP_RET_ALLOW, expected, "{process}");
    }
}

#[test]
fn adv_172_calls_of_another_architecture_end_the_compiler() {
    let filter = filter().unwrap();
    for number in numbers() {
        let found = verdict(&filter, number, FOREIGN, [own_process(), 0, 0, 0, 0, 0]);
        assert_eq!(found, libc::SECCOMP_RET_KILL_PROCESS, "{number}");
    }
}
