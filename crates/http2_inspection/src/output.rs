//! Follows the frames that the HTTP/2 library sends on a connection.

use super::frame::{FRAME_HEAD_BYTES, FrameHead};
use super::stream_states::ClientStreamStates;
use std::io::IoSlice;

/// The position in the library's output.
#[derive(Debug, Default)]
pub struct OutputFrameTracker {
    head: [u8; FRAME_HEAD_BYTES],
    head_bytes: usize,
    /// Number of bytes left of the payload of the current frame.
    payload: usize,
}

impl OutputFrameTracker {
    /// Whether the bytes so far end with a frame, so that another one may follow.
    pub fn is_between_frames(&self) -> bool {
        self.head_bytes == 0 && self.payload == 0
    }

    /// Follows the first `count` bytes of `slices`, which were sent.
    pub fn follow(
        &mut self,
        slices: &[IoSlice<'_>],
        mut count: usize,
        streams: &mut ClientStreamStates,
    ) {
        for slice in slices {
            let sent = &slice[..slice.len().min(count)];
            count -= sent.len();
            self.follow_bytes(sent, streams);
        }
    }

    fn follow_bytes(&mut self, mut sent: &[u8], streams: &mut ClientStreamStates) {
        while !sent.is_empty() {
            if self.payload > 0 {
                let skipped = self.payload.min(sent.len());
                self.payload -= skipped;
                sent = &sent[skipped..];
                continue;
            }
            let missing = (FRAME_HEAD_BYTES - self.head_bytes).min(sent.len());
            let (part, rest) = sent.split_at(missing);
            self.head[self.head_bytes..][..missing].copy_from_slice(part);
            self.head_bytes += missing;
            sent = rest;
            if self.head_bytes == FRAME_HEAD_BYTES
                && let Some(frame) = FrameHead::parse(&self.head)
            {
                self.head_bytes = 0;
                self.payload = frame.payload;
                streams.follow_server(&frame);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{ErrorCode, push_goaway, push_reset};
    use crate::stream_states::ClientStreamState;

    #[test]
    fn frames_are_followed_in_pieces_of_any_size() {
        let mut sent = Vec::new();
        push_goaway(&mut sent, 1, ErrorCode::Protocol);
        // DATA with END_STREAM.
        sent.extend_from_slice(b"\0\0\x03\0\x01\0\0\0\x01abc");
        push_reset(&mut sent, 3, ErrorCode::StreamClosed);
        for size in 1..=sent.len() {
            let mut streams = ClientStreamStates::default();
            streams.open(1);
            streams.open(3);
            let end = FrameHead::parse(b"\0\0\0\0\x01\0\0\0\x01").unwrap();
            streams.follow_client(&end);
            let mut output = OutputFrameTracker::default();
            for (at, piece) in sent.chunks(size).enumerate() {
                let slices = [IoSlice::new(piece), IoSlice::new(b"not sent")];
                output.follow(&slices, piece.len(), &mut streams);
                let end = (at * size + piece.len()).min(sent.len());
                let is_between = [17, 29, 42].contains(&end);
                assert_eq!(output.is_between_frames(), is_between, "{end} by {size}");
            }
            assert_eq!(streams.state(1), ClientStreamState::Ended, "by {size}");
            assert_eq!(
                streams.state(3),
                ClientStreamState::ResetByServer,
                "by {size}"
            );
        }
    }
}
