//! How far a body is that is being sent or read.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// The most bytes of a body that are handed on at once, so that one sees how far it is.
const PIECE: usize = 16 << 10;

/// How many bytes of bodies were sent and read. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Transfer(Arc<AtomicU64>);

impl Transfer {
    /// How many bytes there were until now.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Relaxed);
    }
}

/// A body that is counted while it is sent.
pub(crate) struct CountedBody {
    rest: Bytes,
    transfer: Transfer,
}

impl CountedBody {
    pub(crate) fn new(bytes: Bytes, transfer: Transfer) -> Self {
        Self { rest: bytes, transfer }
    }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        self.transfer.add(length);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_body_is_counted_piece_by_piece() {
        let transfer = Transfer::default();
        let bytes = Bytes::from(vec![7; PIECE + 1]);
        let mut body = CountedBody::new(bytes.clone(), transfer.clone());
        assert_eq!((body.size_hint().exact(), transfer.bytes()), (Some(PIECE as u64 + 1), 0));
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((first.len() as u64, transfer.bytes()), (PIECE as u64, PIECE as u64));
        let rest = body.collect().await.unwrap().to_bytes();
        assert_eq!([first, rest].concat(), bytes);
        assert_eq!(transfer.bytes(), PIECE as u64 + 1);
    }
}
