;; WASI's first preview as Go's standard library asks for it, from what the host links for every guest: clocks, random numbers,
;; and two streams that end in its log. There are no arguments, no variables of the machine, no files and no sockets: what asks for those is
;; answered here, and no host function stands behind it.
;;
;; It has no memory of its own. Where an answer of the host is larger than a number, it is written below the first byte that Go's
;; linker uses: the linker keeps 12 KiB for arguments, which are elsewhere in WASI. `module.rs` checks that.
(module
  (import "env" "memory" (memory 0))
  (import "wasi:cli/stdout@0.2.6" "get-stdout" (func $get_stdout (result i32)))
  (import "wasi:cli/stderr@0.2.6" "get-stderr" (func $get_stderr (result i32)))
  (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush"
    (func $print (param i32 i32 i32 i32)))
  (import "wasi:clocks/monotonic-clock@0.2.6" "now" (func $monotonic_now (result i64)))
  (import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-duration" (func $subscribe_duration (param i64) (result i32)))
  (import "wasi:clocks/wall-clock@0.2.6" "now" (func $wall_now (param i32)))
  (import "wasi:io/poll@0.2.6" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:io/poll@0.2.6" "[resource-drop]pollable" (func $drop_pollable (param i32)))
  (import "wasi:random/random@0.2.6" "get-random-u64" (func $random (result i64)))

  ;; The two streams, once they were asked for.
  (global $stdout (mut i32) (i32.const -1))
  (global $stderr (mut i32) (i32.const -1))

  (func (export "args_sizes_get") (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $bytes) (i32.const 0))
    (i32.const 0))
  (func (export "args_get") (param i32 i32) (result i32) i32.const 0)
  ;; One variable, "GOTRACEBACK=none" in two numbers: what is printed last is what people see of a crash, and should be its reason.
  (func (export "environ_sizes_get") (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 1))
    (i32.store (local.get $bytes) (i32.const 17))
    (i32.const 0))
  (func (export "environ_get") (param $variables i32) (param $bytes i32) (result i32)
    (i32.store (local.get $variables) (local.get $bytes))
    (i64.store (local.get $bytes) (i64.const 4775296927729471303))
    (i64.store offset=8 (local.get $bytes) (i64.const 7308901764534321985))
    (i32.store8 offset=16 (local.get $bytes) (i32.const 0))
    (i32.const 0))

  (func (export "sched_yield") (result i32) i32.const 0)
  ;; Only after a crash: its last words are printed by then.
  (func (export "proc_exit") (param i32) unreachable)
  (func (export "proc_raise") (param i32) (result i32) unreachable)

  (func (export "clock_res_get") (param $clock i32) (param $to i32) (result i32)
    (i64.store (local.get $to) (i64.const 1000000))
    (i32.const 0))
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $to i32) (result i32)
    (if (i32.eqz (local.get $clock))
      (then
        (call $wall_now (i32.const 4096))
        (i64.store (local.get $to)
          (i64.add
            (i64.mul (i64.load (i32.const 4096)) (i64.const 1000000000))
            (i64.load32_u (i32.const 4104)))))
      ;; A call begins at zero, which Go takes for a clock that does not go.
      (else (i64.store (local.get $to) (i64.add (call $monotonic_now) (i64.const 1)))))
    (i32.const 0))

  (func (export "random_get") (param $to i32) (param $left i32) (result i32)
    (local $bits i64)
    (block $all
      (loop $eight
        (br_if $all (i32.lt_u (local.get $left) (i32.const 8)))
        (i64.store (local.get $to) (call $random))
        (local.set $to (i32.add (local.get $to) (i32.const 8)))
        (local.set $left (i32.sub (local.get $left) (i32.const 8)))
        (br $eight)))
    (if (local.get $left) (then (local.set $bits (call $random))))
    (block $rest
      (loop $one
        (br_if $rest (i32.eqz (local.get $left)))
        (i64.store8 (local.get $to) (local.get $bits))
        (local.set $bits (i64.shr_u (local.get $bits) (i64.const 8)))
        (local.set $to (i32.add (local.get $to) (i32.const 1)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $one)))
    (i32.const 0))

  ;; A stream takes 4096 bytes at a time.
  (func $print_all (param $stream i32) (param $from i32) (param $left i32)
    (local $now i32)
    (block $all
      (loop $piece
        (br_if $all (i32.eqz (local.get $left)))
        (local.set $now
          (select (local.get $left) (i32.const 4096) (i32.lt_u (local.get $left) (i32.const 4096))))
        (call $print (local.get $stream) (local.get $from) (local.get $now) (i32.const 4096))
        (local.set $from (i32.add (local.get $from) (local.get $now)))
        (local.set $left (i32.sub (local.get $left) (local.get $now)))
        (br $piece))))
  (func (export "fd_write") (param $fd i32) (param $pieces i32) (param $count i32) (param $written i32) (result i32)
    (local $stream i32) (local $sum i32)
    (if (i32.eq (local.get $fd) (i32.const 1))
      (then
        (if (i32.eq (global.get $stdout) (i32.const -1)) (then (global.set $stdout (call $get_stdout))))
        (local.set $stream (global.get $stdout)))
      (else
        (if (i32.ne (local.get $fd) (i32.const 2)) (then (return (i32.const 8))))
        (if (i32.eq (global.get $stderr) (i32.const -1)) (then (global.set $stderr (call $get_stderr))))
        (local.set $stream (global.get $stderr))))
    (block $all
      (loop $piece
        (br_if $all (i32.eqz (local.get $count)))
        (call $print_all (local.get $stream)
          (i32.load (local.get $pieces)) (i32.load offset=4 (local.get $pieces)))
        (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $pieces))))
        (local.set $pieces (i32.add (local.get $pieces) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $piece)))
    (i32.store (local.get $written) (local.get $sum))
    (i32.const 0))

  ;; Standard input is at its end.
  (func (export "fd_read") (param $fd i32) (param $pieces i32) (param $count i32) (param $read i32) (result i32)
    (if (local.get $fd) (then (return (i32.const 8))))
    (i32.store (local.get $read) (i32.const 0))
    (i32.const 0))
  ;; Standard streams are character devices with all rights.
  (func (export "fd_fdstat_get") (param $fd i32) (param $to i32) (result i32)
    (if (i32.gt_u (local.get $fd) (i32.const 2)) (then (return (i32.const 8))))
    (i64.store (local.get $to) (i64.const 2))
    (i64.store offset=8 (local.get $to) (i64.const -1))
    (i64.store offset=16 (local.get $to) (i64.const -1))
    (i32.const 0))
  (func (export "fd_fdstat_set_flags") (param $fd i32) (param $flags i32) (result i32)
    (select (i32.const 8) (i32.const 0) (i32.gt_u (local.get $fd) (i32.const 2))))

  ;; Go sleeps here: until the first clock among what it waits for. There is nothing else to wait for. Of a subscription of 48
  ;; bytes: userdata at 0, the kind at 8 (0 is a clock), nanoseconds at 24, at 40 whether those are a moment. Of an event of 32:
  ;; userdata at 0, the error at 8, the kind at 10.
  (func (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $events i32) (result i32)
    (local $nanoseconds i64) (local $now i64) (local $pollable i32)
    (loop $next
      (if (i32.eqz (local.get $count)) (then (return (i32.const 58))))
      (if (i32.load8_u offset=8 (local.get $in))
        (then
          (local.set $in (i32.add (local.get $in) (i32.const 48)))
          (local.set $count (i32.sub (local.get $count) (i32.const 1)))
          (br $next))))
    (local.set $nanoseconds (i64.load offset=24 (local.get $in)))
    (if (i32.and (i32.load16_u offset=40 (local.get $in)) (i32.const 1))
      (then
        (local.set $now (i64.add (call $monotonic_now) (i64.const 1)))
        (local.set $nanoseconds
          (select
            (i64.sub (local.get $nanoseconds) (local.get $now))
            (i64.const 0)
            (i64.gt_u (local.get $nanoseconds) (local.get $now))))))
    (local.set $pollable (call $subscribe_duration (local.get $nanoseconds)))
    (call $block (local.get $pollable))
    (call $drop_pollable (local.get $pollable))
    (i64.store (local.get $out) (i64.load (local.get $in)))
    (i64.store offset=8 (local.get $out) (i64.const 0))
    (i32.store (local.get $events) (i32.const 1))
    (i32.const 0))

  ;; No file and no socket is open: EBADF.
  (func (export "fd_advise") (param i32 i64 i64 i32) (result i32) i32.const 8)
  (func (export "fd_allocate") (param i32 i64 i64) (result i32) i32.const 8)
  (func (export "fd_close") (param i32) (result i32) i32.const 8)
  (func (export "fd_datasync") (param i32) (result i32) i32.const 8)
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) i32.const 8)
  (func (export "fd_filestat_get") (param i32 i32) (result i32) i32.const 8)
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) i32.const 8)
  (func (export "fd_filestat_set_times") (param i32 i64 i64 i32) (result i32) i32.const 8)
  (func (export "fd_pread") (param i32 i32 i32 i64 i32) (result i32) i32.const 8)
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) i32.const 8)
  (func (export "fd_prestat_get") (param i32 i32) (result i32) i32.const 8)
  (func (export "fd_pwrite") (param i32 i32 i32 i64 i32) (result i32) i32.const 8)
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) i32.const 8)
  (func (export "fd_renumber") (param i32 i32) (result i32) i32.const 8)
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) i32.const 8)
  (func (export "fd_sync") (param i32) (result i32) i32.const 8)
  (func (export "fd_tell") (param i32 i32) (result i32) i32.const 8)
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) i32.const 8)
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) i32.const 8)
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) i32.const 8)
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) i32.const 8)
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) i32.const 8)
  (func (export "path_readlink") (param i32 i32 i32 i32 i32 i32) (result i32) i32.const 8)
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) i32.const 8)
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) i32.const 8)
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) i32.const 8)
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) i32.const 8)
  (func (export "sock_accept") (param i32 i32 i32) (result i32) i32.const 8)
  (func (export "sock_recv") (param i32 i32 i32 i32 i32 i32) (result i32) i32.const 8)
  (func (export "sock_send") (param i32 i32 i32 i32 i32) (result i32) i32.const 8)
  (func (export "sock_shutdown") (param i32 i32) (result i32) i32.const 8)
)
