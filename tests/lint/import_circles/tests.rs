use std::path::Path;

use crate::circles::report;
use crate::modules::read;

/// Checks what is said of a crate with these files.
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let text = |file: &Path| files.iter().find(|(name, _)| Path::new(name) == file).map(|(_, text)| (*text).to_owned());
    assert_eq!(report(&read(Path::new(""), &text)), expected);
}

#[test]
fn an_order_of_modules_is_no_circle() {
    check(
        &[
            ("lib.rs", "mod top; mod middle; mod bottom;"),
            ("top.rs", "use crate::middle::Middle; use crate::bottom::{Bottom, depth};"),
            ("middle.rs", "use crate::bottom::Bottom; pub struct Middle;"),
            ("bottom.rs", "pub struct Bottom; pub fn depth() {}"),
        ],
        &[],
    );
}

#[test]
fn files_that_define_what_the_other_needs_are_refused() {
    check(
        &[
            ("main.rs", "mod folder;"),
            ("folder.rs", "mod child; pub struct Folder(child::Child);"),
            ("folder/child.rs", "pub struct Child { folder: Box<super::Folder> }"),
        ],
        &[
            "2 files import each other by what they define, in a circle:",
            "  folder -> folder::child: Child",
            "  folder::child -> folder: Folder",
        ],
    );
}

#[test]
fn a_definition_is_found_behind_its_re_export() {
    check(
        &[
            ("lib.rs", "mod shop; mod road; mod cart;"),
            ("shop.rs", "pub use crate::cart::Cart;"),
            ("road.rs", "use crate::shop::Cart; pub struct Road;"),
            ("cart.rs", "use crate::road::Road; pub struct Cart;"),
        ],
        &[
            "2 files import each other by what they define, in a circle:",
            "  cart -> road: Road",
            "  road -> cart: Cart",
            "3 modules name each other, in a circle:",
            "  cart -> road: road::Road in cart.rs",
            "  road -> shop: shop::Cart in road.rs",
            "  shop -> cart: cart::Cart in shop.rs",
        ],
    );
}

#[test]
fn neighbours_in_a_folder_that_name_each_other_are_refused() {
    check(
        &[
            ("lib.rs", "mod folder;"),
            ("folder.rs", "mod left; mod right; mod shared;"),
            ("folder/left.rs", "pub use super::shared::Shared; pub fn left() { super::right::right() }"),
            ("folder/right.rs", "use super::left::Shared; pub fn right() {}"),
            ("folder/shared.rs", "pub struct Shared;"),
        ],
        &[
            "2 modules name each other, in a circle:",
            "  folder::left -> folder::right: folder::right::right in folder/left.rs",
            "  folder::right -> folder::left: folder::left::Shared in folder/right.rs",
        ],
    );
}

#[test]
fn top_level_modules_that_name_each_other_are_refused() {
    // No two files of these import each other.
    check(
        &[
            ("lib.rs", "mod north; mod south;"),
            ("north.rs", "mod port; mod city;"),
            ("north/port.rs", "pub struct Port;"),
            ("north/city.rs", "use crate::south::city::City;"),
            ("south.rs", "mod city; mod port;"),
            ("south/port.rs", "use crate::north::port::Port;"),
            ("south/city.rs", "pub struct City;"),
        ],
        &[
            "2 modules name each other, in a circle:",
            "  north -> south: south::city::City in north/city.rs",
            "  south -> north: north::port::Port in south/port.rs",
        ],
    );
}

#[test]
fn a_path_to_the_root_counts_for_what_it_re_exports() {
    check(
        &[
            ("lib.rs", "mod left; mod right; pub use left::Left;"),
            ("left.rs", "use crate::right::Shared; pub use crate::right::Left;"),
            ("right.rs", "use crate::Left; pub struct Shared; mod own; pub use own::Left;"),
            ("right/own.rs", "pub struct Left;"),
        ],
        &[
            "2 modules name each other, in a circle:",
            "  left -> right: right::Left in left.rs, right::Shared in left.rs",
            "  right -> left: Left in right.rs",
        ],
    );
}

#[test]
fn a_path_to_the_parent_counts_for_what_it_uses() {
    check(
        &[
            ("lib.rs", "mod folder;"),
            ("folder.rs", "mod left; mod right; use left::Shared;"),
            ("folder/left.rs", "pub use super::shared::Shared; pub fn left() { super::right::right() }"),
            ("folder/right.rs", "use super::Shared; pub fn right() {}"),
        ],
        &[
            "2 modules name each other, in a circle:",
            "  folder::left -> folder::right: folder::right::right in folder/left.rs",
            "  folder::right -> folder::left: folder::Shared in folder/right.rs",
        ],
    );
}

#[test]
fn a_parent_and_its_children_are_no_circle_of_names() {
    check(
        &[
            ("lib.rs", "mod folder;"),
            ("folder.rs", "mod child; mod other; pub use child::Child;"),
            ("folder/child.rs", "use super::other::Other; use crate::folder::other; pub struct Child;"),
            ("folder/other.rs", "pub struct Other;"),
        ],
        &[],
    );
}

#[test]
fn tests_texts_and_comments_import_nothing() {
    check(
        &[
            ("lib.rs", "mod left; mod right;"),
            ("left.rs", "use crate::right::Right; pub struct Left;"),
            (
                "right.rs",
                r##"pub struct Right; // crate::left::Left
                const TEXT: &str = "crate::left::Left"; const RAW: &str = r#"crate::left::Left"#;
                #[cfg(test)] mod tests { use crate::left::Left; }"##,
            ),
        ],
        &[],
    );
}
