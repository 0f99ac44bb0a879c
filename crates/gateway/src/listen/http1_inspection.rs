//! Inspection of an HTTP/1.1 client's bytes: where each message begins and ends, and which are rejected.

use super::head_scan::{HeadScanResult, HeadScanner};
use bytes::buf::Limit;
use bytes::{BufMut, BytesMut};
use headgate_http_body::chunk_grammar::{ChunkGrammar, ChunkScanResult};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The inspection of one connection, shared by its stream and the task that serves its requests.
#[derive(Clone, Default)]
pub(crate) struct SharedHttp1Inspector(Arc<Mutex<Http1Inspector>>);

/// Framing of a body, as determined by the head check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Length(u64),
    Chunked,
    /// The head was rejected; the rest is read only to be discarded.
    Refused,
}

/// What the head check needs and Pingora's parsed head does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawHeadSummary {
    pub bytes: usize,
    /// Whether the request line is visible ASCII with exactly two spaces.
    pub valid_request_line: bool,
}

/// Why a client's bytes are not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InspectionError {
    #[error("the header section is larger than `server.limits.header_size`")]
    HeadTooLarge,
    #[error("the HTTP parser and the inspection disagree about the end of the header section")]
    HeadEnd,
    #[error("the chunked body violates RFC 9112, section 7.1")]
    Chunks,
    #[error("the HTTP parser and the inspection disagree about the end of the body")]
    BodyEnd,
}

impl From<InspectionError> for io::Error {
    fn from(refused: InspectionError) -> Self {
        Self::new(io::ErrorKind::InvalidData, refused)
    }
}

/// Purpose of the session's next read.
pub(super) enum ReadPurpose {
    /// Reads the next bytes of the message.
    Message,
    /// Waits for the client to disconnect.
    EndOfFile,
    /// Discards input.
    Discard,
}

/// How much of the received bytes belongs to the current message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InspectedByteCounts {
    /// Number of bytes at the start that are dropped.
    pub skipped: usize,
    /// Number of bytes after those that are passed on; the rest belongs to the next message.
    pub passed: usize,
}

/// Progress of the current message.
#[derive(Default)]
pub(super) struct Http1Inspector {
    phase: MessagePhase,
    /// Whether a byte of the message or an empty line before it has arrived.
    has_received: bool,
    head: HeadScanner,
    header_size: usize,
    /// Where the next bytes of a body of declared length go, which do not pass through the session.
    receiving: Option<BodyReceiveBuffer>,
}

/// The exchange's buffer for bytes of a body.
struct BodyReceiveBuffer {
    buffer: Limit<BytesMut>,
    /// The number of bytes that it had before.
    bytes_before: usize,
}

#[derive(Default)]
enum MessagePhase {
    /// Nothing of the message has arrived except empty lines.
    #[default]
    Begin,
    Head,
    HeadTooLarge,
    /// The head is complete; the framing of its body is not known yet.
    HeadEnd,
    Length(u64),
    Chunked(ChunkGrammar),
    BadChunks,
    BodyEnd,
    /// The session has read the whole message.
    Complete,
    /// No further inspection.
    Refused,
    /// This many bytes are still read and discarded.
    Discard(usize),
}

impl SharedHttp1Inspector {
    /// Starts the next message, whose head may have `header_size` bytes.
    pub fn begin_message(&self, header_size: usize) {
        *self.lock() = Http1Inspector {
            phase: MessagePhase::Begin,
            has_received: false,
            head: HeadScanner::default(),
            header_size,
            receiving: None,
        };
    }

    /// Whether a byte of the head has arrived.
    pub fn has_begun(&self) -> bool {
        !matches!(self.lock().phase, MessagePhase::Begin)
    }

    /// Whether a byte of the head, or of an empty line before it, has arrived.
    pub fn has_received(&self) -> bool {
        self.lock().has_received
    }

    /// Size of the head and result of the request line check. The head must be complete.
    pub fn head(&self) -> RawHeadSummary {
        let inspector = self.lock();
        RawHeadSummary {
            bytes: inspector.head.bytes(),
            valid_request_line: inspector.head.has_valid_request_line(),
        }
    }

    /// Starts the body, after the head was checked.
    pub fn begin_body(&self, framing: BodyFraming) {
        self.lock().phase = match framing {
            BodyFraming::Length(0) => MessagePhase::Complete,
            BodyFraming::Length(bytes) => MessagePhase::Length(bytes),
            BodyFraming::Chunked => MessagePhase::Chunked(ChunkGrammar::default()),
            BodyFraming::Refused => MessagePhase::Refused,
        };
    }

    /// How many bytes are missing of a body of declared length; `None` if none is, or the body is of another kind.
    pub fn body_bytes_left(&self) -> Option<u64> {
        match self.lock().phase {
            MessagePhase::Length(left) => Some(left),
            _ => None,
        }
    }

    /// Lets the next reads of the session append up to `bytes_max` bytes of the body to `buffer`. The session itself gets
    /// none of them; its read ends only when the client disconnects.
    pub fn receive_into(&self, buffer: BytesMut, bytes_max: usize) {
        let mut inspector = self.lock();
        if let MessagePhase::Length(left) = inspector.phase {
            let bytes_max = usize::try_from(left).map_or(bytes_max, |left| left.min(bytes_max));
            inspector.receiving = Some(BodyReceiveBuffer {
                bytes_before: buffer.len(),
                buffer: buffer.limit(bytes_max),
            });
        }
    }

    /// Takes back the buffer of [`SharedHttp1Inspector::receive_into`] if any bytes have arrived in it.
    pub fn take_received(&self) -> Option<BytesMut> {
        let has_received =
            |own: &mut BodyReceiveBuffer| own.buffer.get_ref().len() > own.bytes_before;
        let received = self.lock().receiving.take_if(has_received)?;
        Some(received.buffer.into_inner())
    }

    /// Frees a buffer that was not taken back. Bytes that have arrived in it are lost, so the rest of the body can only be
    /// discarded.
    pub fn cancel_receive(&self) {
        self.lock().receiving = None;
    }

    /// Ends the body: the session has read it to the end that Pingora found.
    ///
    /// # Errors
    /// The inspection found another end of the body.
    pub fn end_body(&self) -> Result<(), InspectionError> {
        let mut inspector = self.lock();
        match inspector.phase {
            MessagePhase::BodyEnd | MessagePhase::Complete | MessagePhase::Refused => {
                inspector.phase = MessagePhase::Complete;
                Ok(())
            }
            _ => Err(InspectionError::BodyEnd),
        }
    }

    /// Discards all further input, up to `bytes_max` bytes.
    pub fn discard(&self, bytes_max: usize) {
        self.lock().phase = MessagePhase::Discard(bytes_max);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Http1Inspector> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Http1Inspector {
    /// The purpose of the next read.
    ///
    /// # Errors
    /// No read is allowed: the message was rejected, or Pingora reads beyond the end that the inspection found.
    pub fn read_mode(&self) -> Result<ReadPurpose, InspectionError> {
        match self.phase {
            MessagePhase::Begin
            | MessagePhase::Head
            | MessagePhase::Length(_)
            | MessagePhase::Chunked(_)
            | MessagePhase::Refused => Ok(ReadPurpose::Message),
            MessagePhase::HeadTooLarge => Err(InspectionError::HeadTooLarge),
            MessagePhase::HeadEnd => Err(InspectionError::HeadEnd),
            MessagePhase::BadChunks => Err(InspectionError::Chunks),
            MessagePhase::BodyEnd => Err(InspectionError::BodyEnd),
            MessagePhase::Complete => Ok(ReadPurpose::EndOfFile),
            MessagePhase::Discard(_) => Ok(ReadPurpose::Discard),
        }
    }

    /// Inspects the next bytes, in [`ReadPurpose::Message`].
    ///
    /// # Errors
    /// The bytes violate the grammar of chunks.
    pub fn inspect(&mut self, received: &[u8]) -> Result<InspectedByteCounts, InspectionError> {
        let mut skipped = 0;
        if let MessagePhase::Begin = self.phase {
            self.has_received |= !received.is_empty();
            skipped = self.head.skip_empty_lines(received);
            if skipped < received.len() {
                self.phase = MessagePhase::Head;
            }
        }
        let received = &received[skipped..];
        let passed = match &mut self.phase {
            MessagePhase::Head => self.inspect_head(received),
            MessagePhase::Length(left) => {
                let passed =
                    usize::try_from(*left).map_or(received.len(), |left| received.len().min(left));
                self.count_body_bytes(passed);
                passed
            }
            MessagePhase::Chunked(grammar) => match grammar.scan(received) {
                ChunkScanResult::Open => received.len(),
                ChunkScanResult::End(at) => {
                    self.phase = MessagePhase::BodyEnd;
                    at
                }
                ChunkScanResult::Violation => {
                    self.phase = MessagePhase::BadChunks;
                    return Err(InspectionError::Chunks);
                }
            },
            _ => received.len(),
        };
        Ok(InspectedByteCounts { skipped, passed })
    }

    /// Whether the head is incomplete; `None` after its end.
    pub fn is_head_open(&self) -> Option<bool> {
        match self.phase {
            MessagePhase::Head => Some(true),
            MessagePhase::HeadEnd | MessagePhase::HeadTooLarge => Some(false),
            _ => None,
        }
    }

    /// The exchange's buffer for the next bytes of the body.
    pub fn receive_buffer(&mut self) -> Option<&mut Limit<BytesMut>> {
        self.receiving.as_mut().map(|own| &mut own.buffer)
    }

    /// Counts bytes that were received into [`Http1Inspector::receive_buffer`].
    pub fn count_body_bytes(&mut self, bytes: usize) {
        if let MessagePhase::Length(left) = &mut self.phase {
            *left -= bytes as u64;
            if *left == 0 {
                self.phase = MessagePhase::BodyEnd;
            }
        }
    }

    fn inspect_head(&mut self, received: &[u8]) -> usize {
        let room = self.header_size - self.head.bytes();
        let allowed = &received[..received.len().min(room)];
        match self.head.scan(allowed) {
            HeadScanResult::Open => {
                if self.head.bytes() == self.header_size {
                    self.phase = MessagePhase::HeadTooLarge;
                }
                allowed.len()
            }
            HeadScanResult::End(at) => {
                self.phase = MessagePhase::HeadEnd;
                at
            }
        }
    }

    /// Counts discarded bytes; `false` if the limit is reached.
    pub fn discard(&mut self, bytes: usize) -> bool {
        match &mut self.phase {
            MessagePhase::Discard(left) => {
                *left = left.saturating_sub(bytes);
                *left > 0
            }
            _ => false,
        }
    }
}
