//! The states of a client's streams (RFC 9113, section 5.1), followed from the frames of both sides.
//!
//! The HTTP/2 library takes any frame on a stream that it has forgotten for the same error of the connection.

use super::frame::{FrameHead, RST_STREAM};
use foldhash::fast::RandomState;
use std::collections::{HashMap, VecDeque};

/// Maximum number of streams that are followed at a time; the library refuses further ones long before.
const OPEN_MAX: usize = 1_000;
/// Number of closed streams of which it is known how they closed.
const CLOSED_MAX: usize = 64;
/// Number of gaps between stream ids that are remembered.
const GAPS_MAX: usize = 8;

/// The states of the streams of one connection.
#[derive(Debug, Default)]
pub struct ClientStreamStates {
    open: HashMap<u32, OpenStreamEndedSide, RandomState>,
    /// The streams that closed last.
    closed: VecDeque<(u32, StreamCloseCause)>,
    /// The highest id that the client has used.
    newest: u32,
    /// The last ranges of ids below `newest` that the client did not use: the id before the range, and the one after it.
    gaps: VecDeque<(u32, u32)>,
}

/// Which sides of an open stream have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenStreamEndedSide {
    Neither,
    ClientEnded,
    ServerEnded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamCloseCause {
    /// Both sides have ended the stream.
    End,
    ClientReset,
    ServerReset,
}

/// The state of a stream, as far as it decides what the client may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientStreamState {
    /// The client has not used this id or a higher one.
    Idle,
    /// The client has not used this id, but a higher one.
    Skipped,
    /// The client has not ended the stream.
    Open,
    /// The client has ended the stream, the server has not.
    HalfClosed,
    /// Both sides have ended the stream.
    Ended,
    /// The client has reset the stream.
    ResetByClient,
    /// The server has reset the stream, or it is not known any more how the stream closed. The client may have sent
    /// frames before it knew.
    ResetByServer,
}

impl ClientStreamStates {
    /// The highest id that the client has used.
    pub fn newest(&self) -> u32 {
        self.newest
    }

    /// The state of a stream whose id is odd.
    pub fn state(&self, stream: u32) -> ClientStreamState {
        if stream > self.newest {
            return ClientStreamState::Idle;
        }
        match self.open.get(&stream) {
            Some(OpenStreamEndedSide::ClientEnded) => return ClientStreamState::HalfClosed,
            Some(OpenStreamEndedSide::Neither | OpenStreamEndedSide::ServerEnded) => {
                return ClientStreamState::Open;
            }
            None => {}
        }
        let is_in = |gap: &(u32, u32)| gap.0 < stream && stream < gap.1;
        if self.gaps.iter().any(is_in) {
            return ClientStreamState::Skipped;
        }
        let closed = self.closed.iter().rev().find(|closed| closed.0 == stream);
        match closed {
            Some((_, StreamCloseCause::End)) => ClientStreamState::Ended,
            Some((_, StreamCloseCause::ClientReset)) => ClientStreamState::ResetByClient,
            Some((_, StreamCloseCause::ServerReset)) | None => ClientStreamState::ResetByServer,
        }
    }

    /// The client has begun a stream.
    pub fn open(&mut self, stream: u32) {
        if stream > self.newest.saturating_add(2) {
            push_bounded(&mut self.gaps, (self.newest, stream), GAPS_MAX);
        }
        self.newest = stream;
        if self.open.len() < OPEN_MAX {
            self.open.insert(stream, OpenStreamEndedSide::Neither);
        }
    }

    /// Follows a frame that the client has sent on a stream.
    pub fn follow_client(&mut self, frame: &FrameHead) {
        if frame.kind == RST_STREAM {
            self.reset(frame.stream, StreamCloseCause::ClientReset);
        } else if frame.ends_stream() {
            self.end(frame.stream, OpenStreamEndedSide::ClientEnded);
        }
    }

    /// Follows a frame that the server has sent.
    pub fn follow_server(&mut self, frame: &FrameHead) {
        if frame.kind == RST_STREAM {
            self.reset(frame.stream, StreamCloseCause::ServerReset);
        } else if frame.ends_stream() {
            self.end(frame.stream, OpenStreamEndedSide::ServerEnded);
        }
    }

    fn end(&mut self, stream: u32, side: OpenStreamEndedSide) {
        match self.open.get_mut(&stream) {
            Some(state) if *state == OpenStreamEndedSide::Neither => *state = side,
            Some(state) if *state != side => self.close(stream, StreamCloseCause::End),
            Some(_) | None => {}
        }
    }

    fn reset(&mut self, stream: u32, by: StreamCloseCause) {
        if self.open.contains_key(&stream) {
            self.close(stream, by);
        }
    }

    fn close(&mut self, stream: u32, by: StreamCloseCause) {
        self.open.remove(&stream);
        push_bounded(&mut self.closed, (stream, by), CLOSED_MAX);
    }
}

/// Appends an entry, and removes the first one if there are more than `most`.
fn push_bounded<T>(entries: &mut VecDeque<T>, entry: T, most: usize) {
    if entries.len() == most {
        entries.pop_front();
    }
    entries.push_back(entry);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{DATA, FRAME_HEAD_BYTES, HEADERS};

    fn frame(kind: u8, ends: bool, stream: u32) -> FrameHead {
        let mut head = [0; FRAME_HEAD_BYTES];
        (head[3], head[4]) = (kind, u8::from(ends));
        head[5..].copy_from_slice(&stream.to_be_bytes());
        FrameHead::parse(&head).unwrap()
    }

    #[test]
    fn the_state_of_a_stream_follows_both_sides() {
        let end = |kind| frame(kind, true, 5);
        let reset = frame(RST_STREAM, false, 5);
        for (client, server, expected) in [
            (&[][..], &[][..], ClientStreamState::Open),
            (&[frame(DATA, false, 5)], &[], ClientStreamState::Open),
            (&[], &[end(HEADERS)], ClientStreamState::Open),
            (&[end(DATA)], &[], ClientStreamState::HalfClosed),
            (&[end(HEADERS)], &[], ClientStreamState::HalfClosed),
            (
                &[end(DATA)],
                &[frame(DATA, false, 5)],
                ClientStreamState::HalfClosed,
            ),
            (&[end(DATA)], &[end(DATA)], ClientStreamState::Ended),
            (&[end(DATA)], &[reset], ClientStreamState::ResetByServer),
            (&[], &[end(DATA), reset], ClientStreamState::ResetByServer),
            (&[reset], &[], ClientStreamState::ResetByClient),
            (
                &[end(HEADERS), reset],
                &[],
                ClientStreamState::ResetByClient,
            ),
            // The first reset closes the stream.
            (&[reset], &[reset], ClientStreamState::ResetByClient),
        ] {
            let mut states = ClientStreamStates::default();
            states.open(5);
            client.iter().for_each(|frame| states.follow_client(frame));
            server.iter().for_each(|frame| states.follow_server(frame));
            assert_eq!(states.state(5), expected, "{client:?} {server:?}");
            assert_eq!(states.state(3), ClientStreamState::Skipped);
            assert_eq!(states.state(7), ClientStreamState::Idle);
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_its_loss_is_no_error_of_the_connection() {
        let mut states = ClientStreamStates::default();
        for stream in (0..5_000).map(|n| 3 + n * 4) {
            states.open(stream);
            let end = frame(DATA, true, stream);
            states.follow_client(&end);
            states.follow_server(&end);
        }
        assert!(states.open.is_empty());
        assert_eq!(
            (states.closed.len(), states.gaps.len()),
            (CLOSED_MAX, GAPS_MAX)
        );
        for forgotten in [1, 3, 5, 7] {
            assert_eq!(states.state(forgotten), ClientStreamState::ResetByServer);
        }
        for stream in (30_001..40_001).step_by(2) {
            states.open(stream);
        }
        assert_eq!(states.open.len(), OPEN_MAX);
    }
}
