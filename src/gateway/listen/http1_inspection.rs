//! The inspection of what an HTTP/1.1 client sends: where each message begins and ends, and what is refused.

use super::head_scan::{HeadProgress, HeadScan};
use crate::gateway::chunk_grammar::{ChunkGrammar, ChunkProgress};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The inspection of one connection, shared by its stream and whoever serves its requests.
#[derive(Clone, Default)]
pub(in crate::gateway) struct Http1Inspection(Arc<Mutex<Http1Inspector>>);

/// How the length of a body is known, by the head check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) enum BodyFraming {
    Length(u64),
    Chunked,
    /// The head was refused: what follows is only read to be thrown away.
    Refused,
}

/// What the head check must know of a head and cannot see in what Pingora has parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) struct HeadOnWire {
    pub bytes: usize,
    /// The request line is visible ASCII with two single spaces.
    pub valid_request_line: bool,
}

/// Why a client's bytes are not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::gateway) enum RefusedBytes {
    #[error("the head is larger than `server.limits.header_size`")]
    HeadTooLarge,
    #[error("the head has an end that the HTTP parser does not see")]
    HeadEnd,
    #[error("the chunks of the body break the grammar of RFC 9112, section 7.1")]
    Chunks,
    #[error("the body has an end that the HTTP parser does not see")]
    BodyEnd,
}

impl From<RefusedBytes> for io::Error {
    fn from(refused: RefusedBytes) -> Self {
        Self::new(io::ErrorKind::InvalidData, refused)
    }
}

/// What the next read of a session is for.
pub(super) enum ReadMode {
    /// The next bytes of the message.
    Message,
    /// To learn that the client has left.
    EndOfFile,
    /// To throw away what comes.
    Discard,
}

/// How much of received bytes belongs to the current message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InspectedPiece {
    /// Bytes at the begin that are thrown away.
    pub skipped: usize,
    /// Bytes behind those that are passed on; the rest belongs to the next message.
    pub passed: usize,
}

/// How far the current message has come.
#[derive(Default)]
pub(super) struct Http1Inspector {
    phase: Phase,
    head: HeadScan,
    header_size: usize,
}

#[derive(Default)]
enum Phase {
    /// Nothing of the message has come but empty lines.
    #[default]
    Begin,
    Head,
    HeadTooLarge,
    /// The head is whole; its body's framing is not known yet.
    HeadEnd,
    Length(u64),
    Chunked(ChunkGrammar),
    BadChunks,
    BodyEnd,
    /// The session has read the whole message.
    Complete,
    /// Nothing is inspected any more.
    Refused,
    /// So many bytes more are read and thrown away.
    Discard(usize),
}

impl Http1Inspection {
    /// A session waits for its message, whose head may have `header_size` bytes.
    pub fn begin_message(&self, header_size: usize) {
        *self.lock() = Http1Inspector {
            phase: Phase::Begin,
            head: HeadScan::default(),
            header_size,
        };
    }

    /// Whether a byte of the head has come.
    pub fn has_begun(&self) -> bool {
        !matches!(self.lock().phase, Phase::Begin)
    }

    /// The head of the message, which has been read.
    pub fn head(&self) -> HeadOnWire {
        let inspector = self.lock();
        HeadOnWire {
            bytes: inspector.head.bytes(),
            valid_request_line: inspector.head.has_valid_request_line(),
        }
    }

    /// The head was checked: from here on the body is read.
    pub fn begin_body(&self, framing: BodyFraming) {
        self.lock().phase = match framing {
            BodyFraming::Length(0) => Phase::Complete,
            BodyFraming::Length(bytes) => Phase::Length(bytes),
            BodyFraming::Chunked => Phase::Chunked(ChunkGrammar::default()),
            BodyFraming::Refused => Phase::Refused,
        };
    }

    /// The session has read a body to the end that it sees.
    ///
    /// # Errors
    /// Here it has another one.
    pub fn end_body(&self) -> Result<(), RefusedBytes> {
        let mut inspector = self.lock();
        match inspector.phase {
            Phase::BodyEnd | Phase::Complete | Phase::Refused => {
                inspector.phase = Phase::Complete;
                Ok(())
            }
            _ => Err(RefusedBytes::BodyEnd),
        }
    }

    /// Whatever comes is thrown away, up to `bytes_max` bytes.
    pub fn discard(&self, bytes_max: usize) {
        self.lock().phase = Phase::Discard(bytes_max);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Http1Inspector> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Http1Inspector {
    /// What is to be read next.
    ///
    /// # Errors
    /// Nothing is: the message was refused, or the session sees another end of it.
    pub fn read_mode(&self) -> Result<ReadMode, RefusedBytes> {
        match self.phase {
            Phase::Begin | Phase::Head | Phase::Length(_) | Phase::Chunked(_) | Phase::Refused => {
                Ok(ReadMode::Message)
            }
            Phase::HeadTooLarge => Err(RefusedBytes::HeadTooLarge),
            Phase::HeadEnd => Err(RefusedBytes::HeadEnd),
            Phase::BadChunks => Err(RefusedBytes::Chunks),
            Phase::BodyEnd => Err(RefusedBytes::BodyEnd),
            Phase::Complete => Ok(ReadMode::EndOfFile),
            Phase::Discard(_) => Ok(ReadMode::Discard),
        }
    }

    /// Inspects the next bytes, in [`ReadMode::Message`].
    ///
    /// # Errors
    /// They break the grammar of chunks.
    pub fn inspect(&mut self, received: &[u8]) -> Result<InspectedPiece, RefusedBytes> {
        let mut skipped = 0;
        if let Phase::Begin = self.phase {
            skipped = self.head.skip_empty_lines(received);
            if skipped < received.len() {
                self.phase = Phase::Head;
            }
        }
        let received = &received[skipped..];
        let passed = match &mut self.phase {
            Phase::Head => self.inspect_head(received),
            Phase::Length(left) => {
                let passed =
                    usize::try_from(*left).map_or(received.len(), |left| received.len().min(left));
                *left -= passed as u64;
                if *left == 0 {
                    self.phase = Phase::BodyEnd;
                }
                passed
            }
            Phase::Chunked(grammar) => match grammar.scan(received) {
                ChunkProgress::Open => received.len(),
                ChunkProgress::End(at) => {
                    self.phase = Phase::BodyEnd;
                    at
                }
                ChunkProgress::Violation => {
                    self.phase = Phase::BadChunks;
                    return Err(RefusedBytes::Chunks);
                }
            },
            _ => received.len(),
        };
        Ok(InspectedPiece { skipped, passed })
    }

    fn inspect_head(&mut self, received: &[u8]) -> usize {
        let room = self.header_size - self.head.bytes();
        let allowed = &received[..received.len().min(room)];
        match self.head.scan(allowed) {
            HeadProgress::Open => {
                if self.head.bytes() == self.header_size {
                    self.phase = Phase::HeadTooLarge;
                }
                allowed.len()
            }
            HeadProgress::End(at) => {
                self.phase = Phase::HeadEnd;
                at
            }
        }
    }

    /// Counts bytes that are thrown away; `false` if those were the last.
    pub fn discard(&mut self, bytes: usize) -> bool {
        match &mut self.phase {
            Phase::Discard(left) => {
                *left = left.saturating_sub(bytes);
                *left > 0
            }
            _ => false,
        }
    }
}
