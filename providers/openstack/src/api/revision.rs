//! Writes that hold only as long as an object of Neutron is as it was read.

use aerostat_sdk::http::Request;

/// The same request, which holds only for this revision. Where the object has changed since, the answer is 412.
pub(super) fn if_match(request: Request, revision: Option<u64>) -> Request {
    match revision {
        Some(it) => request.header("if-match", format_args!("revision_number={it}")),
        None => request,
    }
}
