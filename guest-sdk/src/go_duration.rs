//! Durations as Go writes them: a file of the crate `go-duration`, so that the SDK can be published as one package.

#[expect(unreachable_pub, reason = "the file is a crate's as well")]
mod read;

pub(crate) use self::read::parse;
