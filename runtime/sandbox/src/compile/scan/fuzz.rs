//! The look at a module costs no more than its bytes.

use measured_work::{Line, fuzz};

use super::*;

#[test]
fn adv_158_modules_cost_no_more_than_their_bytes() {
    let component =
        wat::parse_str("(component (core module (func (block))) (type (component (type (func)))))").unwrap();
    let module = wat::parse_str("(module (func (local i32 i64) (block (br_table 0 0 0 (i32.const 0)))))").unwrap();
    // The heads of a module and of a component, sections, and what opens further ones in them.
    let pieces: [&[u8]; 14] = [
        b"\0asm\x01\0\0\0",
        b"\0asm\x0d\0\x01\0",
        b"\x04\x80\x80\x04\0asm\x0d\0\x01\0",
        b"\x07\xff\xff\x03\xff\xff\x03",
        b"\x41\x01\x01",
        b"\x42\x01\x01",
        b"\x0a\xff\xff\x03\x01\xff\xff\x03",
        b"\x02\x40",
        b"\x0e\x01\0\0",
        b"\x0b",
        b"\0\x02\x01a",
        b"\x01\x60\0\0",
        &component,
        &module,
    ];
    let limits = CompileLimits::default();
    let scan = |text: &[u8]| {
        for head in [&b""[..], b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0", b"\0asm\x0d\0\x01\0\x07\xff\xff\x03\x01"] {
            let _ = super::scan(&[head, text].concat(), &limits);
        }
    };
    fuzz("modules", Line { nanoseconds: 5_000, memory: 64 }, &pieces, scan);
}
