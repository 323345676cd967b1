use super::*;

/// A component with a little of everything.
const COMPONENT: &str = r#"(component
    (type $handler (component (type (instance (type (func)) (export "f" (func (type 0)))))))
    (core type (module (type (func)) (import "" "" (func (type 0)))))
    (import "host" (func $host))
    (component $inner (core module (memory 1)))
    (instance (instantiate $inner))
    (core func $lowered (canon lower (func $host)))
    (core module $m
        (import "" "host" (func))
        (table 1 funcref) (memory 1) (global i32 (i32.const 0))
        (elem (i32.const 0) 0 1)
        (data (i32.const 0) "data")
        (func (export "run") (local i32 i64)
            (block (loop (if (local.get 0) (then (br_table 0 1 2 (i32.const 0))))))))
    (core instance $i (instantiate $m (with "" (instance (export "host" (func $lowered))))))
    (@custom "note" "0123456789")
)"#;

/// Limits that allow exactly what [`COMPONENT`] has: from nothing, each is raised to what was found.
fn exact() -> CompileLimits {
    let keys = ["modules", "nesting", "types", "definitions", "customBytes", "functions", "functionBytes", "locals"];
    let none = keys.into_iter().chain(["blocks", "branchTargets"]).map(|it| format!("{it}=0"));
    let mut limits = CompileLimits::parse(none).unwrap();
    while let Err(ScanRefusal::TooMuch { found, key, .. }) = scan(&bytes(), &limits) {
        let raised = limits.arguments().chain([format!("{key}={found}")]);
        limits = CompileLimits::parse(raised).unwrap();
    }
    limits
}

fn bytes() -> Vec<u8> {
    wat::parse_str(COMPONENT).unwrap()
}

#[test]
fn all_that_a_module_has_is_counted() {
    let CompileLimits { modules, nesting, functions, locals, blocks, branch_targets, .. } = exact();
    // The component, one in it with a module, and a module; a type in the type of a component.
    assert_eq!((modules, nesting, functions), (4, 3, 1));
    assert_eq!((locals, blocks, branch_targets), (2, 3, 3));
}

#[test]
fn a_module_may_have_as_much_as_a_limit_says() {
    assert!(scan(&bytes(), &exact()).is_ok(), "{:?}", scan(&bytes(), &exact()));
    for less in [
        |it: &mut CompileLimits| it.modules -= 1,
        |it: &mut CompileLimits| it.nesting -= 1,
        |it: &mut CompileLimits| it.types -= 1,
        |it: &mut CompileLimits| it.definitions -= 1,
        |it: &mut CompileLimits| it.custom_bytes -= 1,
        |it: &mut CompileLimits| it.functions -= 1,
        |it: &mut CompileLimits| it.function_bytes -= 1,
        |it: &mut CompileLimits| it.locals -= 1,
        |it: &mut CompileLimits| it.blocks -= 1,
        |it: &mut CompileLimits| it.branch_targets -= 1,
    ] {
        let mut limits = exact();
        less(&mut limits);
        assert!(matches!(scan(&bytes(), &limits), Err(ScanRefusal::TooMuch { .. })), "{limits:?}");
    }
}

#[test]
fn a_refusal_names_the_limit_and_the_key_that_raises_it() {
    let limits = CompileLimits { locals: 1, ..CompileLimits::default() };
    assert_eq!(
        scan(&bytes(), &limits).unwrap_err().to_string(),
        "it has 2 local variables in one function, and provider.limits.compile.locals allows 1; raise that in \
         --cloud-config if you trust this module"
    );
}

#[test]
fn damaged_modules_are_errors() {
    let whole = bytes();
    let half = scan(&whole[..whole.len() / 2], &CompileLimits::default());
    assert!(matches!(half, Err(ScanRefusal::Damaged(_))), "{half:?}");
    // Wherever it ends, and whatever a byte is, the scan ends without a panic.
    for end in 0..whole.len() {
        let _ = scan(&whole[..end], &CompileLimits::default());
    }
    for place in 0..whole.len() {
        for byte in [0x00, 0x01, 0x41, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[place] = byte;
            let _ = scan(&bytes, &CompileLimits::default());
        }
    }
}
