//! A limit on HTTP/2 frames, whose handling costs time though they carry no answer: PING, SETTINGS, WINDOW_UPDATE and
//! the like. The library below answers them for as long as they come.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::usage::ConnectionUse;

/// The length of a frame's head: three bytes of length, the type, flags, and four bytes of stream.
const HEAD: usize = 9;
/// The type of frames that carry bodies. The library limits how small they may be, and the egress how much they carry.
const DATA: u8 = 0;

/// A connection whose frames are counted as they arrive.
pub(super) struct Metered<T> {
    io: T,
    frames: Frames,
    usage: ConnectionUse,
}

impl<T> Metered<T> {
    pub(super) fn new(io: T, usage: ConnectionUse) -> Self {
        Self { io, frames: Frames::default(), usage }
    }
}

/// Where in the stream of frames the next byte belongs.
#[derive(Default)]
struct Frames {
    head: [u8; HEAD],
    /// How much of the head has arrived.
    filled: usize,
    /// How much of the payload has not.
    rest: usize,
}

impl Frames {
    /// How many frames without a body begin in these bytes.
    fn count(&mut self, mut bytes: &[u8]) -> u32 {
        let mut count = 0;
        while !bytes.is_empty() {
            let skipped = self.rest.min(bytes.len());
            self.rest -= skipped;
            bytes = &bytes[skipped..];
            let taken = (HEAD - self.filled).min(bytes.len());
            self.head[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
            self.filled += taken;
            bytes = &bytes[taken..];
            if self.filled == HEAD {
                let [high, middle, low, kind, ..] = self.head;
                self.rest = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
                self.filled = 0;
                count += u32::from(kind != DATA);
            }
        }
        count
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Metered<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(context, into))?;
        let frames = self.frames.count(&into.filled()[before..]);
        if frames > 0 && !self.usage.count_frames(frames) {
            return Poll::Ready(Err(io::Error::other("it sends frames that no request has caused")));
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Metered<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_however_they_are_cut() {
        let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], &[0; 8]].concat();
        let empty_settings = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
        let data = [&[0, 1, 0, DATA, 0, 0, 0, 0, 1][..], &[6; 256]].concat();
        let bytes = [ping.clone(), data, empty_settings.clone(), ping, empty_settings].concat();
        for size in [1, 2, 8, 9, 10, 17, 100, bytes.len()] {
            let mut frames = Frames::default();
            assert_eq!(bytes.chunks(size).map(|it| frames.count(it)).sum::<u32>(), 4, "in pieces of {size}");
        }
    }

    #[test]
    fn adv_158_frames_cost_no_more_than_their_bytes() {
        let pieces: [&[u8]; 5] =
            [&[0; 9], &[0, 0, 8, 6, 0, 0, 0, 0, 0], &[0, 0, 1, 0, 0, 0, 0, 0, 1, 6], &[0xff; 9], &[4]];
        let line = measured_work::Line { nanoseconds: 500, memory: 1 };
        measured_work::fuzz("frames", line, &pieces, |bytes| _ = Frames::default().count(bytes));
    }
}
