//! Parts of WASI that the standard library does not show.

pub(crate) use self::generated::wasi::clocks::monotonic_clock;
pub(crate) use self::generated::wasi::random::random;

mod generated {
    wit_bindgen::generate!({
        inline: r"
            package hostile:imports;

            world imports {
                import wasi:clocks/monotonic-clock@0.2.0;
                import wasi:random/random@0.2.0;
            }

            package wasi:io@0.2.0 {
                interface poll {
                    resource pollable {
                        ready: func() -> bool;
                        block: func();
                    }
                    poll: func(in: list<borrow<pollable>>) -> list<u32>;
                }
            }

            package wasi:clocks@0.2.0 {
                interface monotonic-clock {
                    use wasi:io/poll@0.2.0.{pollable};
                    type instant = u64;
                    type duration = u64;
                    now: func() -> instant;
                    resolution: func() -> duration;
                    subscribe-instant: func(when: instant) -> pollable;
                    subscribe-duration: func(when: duration) -> pollable;
                }
            }

            package wasi:random@0.2.0 {
                interface random {
                    get-random-bytes: func(len: u64) -> list<u8>;
                    get-random-u64: func() -> u64;
                }
            }
        ",
        generate_all,
    });
}
