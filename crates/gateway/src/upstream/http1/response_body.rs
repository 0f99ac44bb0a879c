//! Decodes the body of a response from what was received.
//!
//! Chunk extensions and trailers are skipped. No provider sends them, and parsers differ in them: a connection on which
//! they were seen carries no other request.

use super::response_head::{ResponseFraming, ResponseHead};
use bytes::{Buf, Bytes, BytesMut};
use http::StatusCode;
use httparse::Status;
use pingora_error::{Error, ErrorType};

/// Maximum length of the line with the size of a chunk and its extensions, in bytes.
const SIZE_LINE_MAX: usize = 8 << 10;
/// Maximum size of all extensions and trailers of a body, in bytes.
const EXTRAS_MAX: usize = 32 << 10;

const INVALID_CHUNK: ErrorType = ErrorType::new("InvalidChunk");

/// The part of a body that is still to come.
pub enum ResponseBody {
    /// This many bytes, more than 0.
    Length(u64),
    Chunked(ChunkedBodyDecoder),
    /// Whatever comes until the connection ends.
    Connection,
    Ended,
}

/// A chunked body that is arriving (RFC 9112, section 7.1).
#[derive(Default)]
pub struct ChunkedBodyDecoder {
    next: ChunkElement,
    /// Bytes of extensions and trailers, of which another parser could make another end of the body.
    extra_bytes: usize,
}

/// The next element of a chunked body.
#[derive(Clone, Copy, Default)]
enum ChunkElement {
    #[default]
    Size,
    /// This many bytes of data, more than 0.
    Data(u64),
    DataEnd,
    Trailer,
    End,
}

/// What the received bytes have of a body.
pub enum BodyDecodeResult {
    Chunk(Bytes),
    /// More must be read first.
    Incomplete,
    End,
}

impl ResponseBody {
    /// The body of a response with this head (RFC 9112, section 6.3).
    pub fn for_head(head: &ResponseHead, is_head_request: bool) -> Self {
        let is_empty = head.status.is_informational()
            || is_head_request
            || matches!(
                head.status,
                StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
            );
        match head.framing {
            _ if is_empty => Self::Ended,
            ResponseFraming::Length(0) => Self::Ended,
            ResponseFraming::Length(length) => Self::Length(length),
            ResponseFraming::Chunked => Self::Chunked(ChunkedBodyDecoder::default()),
            ResponseFraming::Connection => Self::Connection,
        }
    }

    /// Takes what `received` has of the body, up to the end of a chunk.
    ///
    /// # Errors
    /// The bytes violate the grammar of chunks, or exceed a limit.
    pub fn decode(&mut self, received: &mut BytesMut) -> Result<BodyDecodeResult, Box<Error>> {
        match self {
            Self::Ended => Ok(BodyDecodeResult::End),
            Self::Chunked(chunked) => chunked.decode(received),
            _ if received.is_empty() => Ok(BodyDecodeResult::Incomplete),
            Self::Connection => Ok(BodyDecodeResult::Chunk(received.split().freeze())),
            Self::Length(left) => {
                let chunk = take_at_most(received, left);
                if *left == 0 {
                    *self = Self::Ended;
                }
                Ok(BodyDecodeResult::Chunk(chunk))
            }
        }
    }

    /// The bytes that are still to come, if their number is known.
    pub fn left(&self) -> Option<u64> {
        match self {
            Self::Length(left) => Some(*left),
            _ => None,
        }
    }

    pub fn has_ended(&self) -> bool {
        match self {
            Self::Ended => true,
            Self::Chunked(chunked) => matches!(chunked.next, ChunkElement::End),
            Self::Length(_) | Self::Connection => false,
        }
    }

    /// Whether the body has ended where every parser sees its end.
    pub fn ended_plainly(&self) -> bool {
        match self {
            Self::Chunked(chunked) => self.has_ended() && chunked.extra_bytes == 0,
            _ => self.has_ended(),
        }
    }

    /// Whether the end of the connection is the end of the body.
    pub fn ends_with_connection(&self) -> bool {
        matches!(self, Self::Connection)
    }
}

impl ChunkedBodyDecoder {
    fn decode(&mut self, received: &mut BytesMut) -> Result<BodyDecodeResult, Box<Error>> {
        self.skip_to_data(received)?;
        match &mut self.next {
            ChunkElement::End => Ok(BodyDecodeResult::End),
            ChunkElement::Data(left) if !received.is_empty() => {
                let data = take_at_most(received, left);
                if *left == 0 {
                    self.next = ChunkElement::DataEnd;
                    // Recognises the end of the body with the last chunk, if both have arrived. An error is found again
                    // by the next call, so that no data before it is lost.
                    let _ = self.skip_to_data(received);
                }
                Ok(BodyDecodeResult::Chunk(data))
            }
            _ => Ok(BodyDecodeResult::Incomplete),
        }
    }

    /// Takes everything up to the next byte of data, or to the end of the body, as far as it has arrived.
    fn skip_to_data(&mut self, received: &mut BytesMut) -> Result<(), Box<Error>> {
        loop {
            let next = match self.next {
                ChunkElement::Size => self.take_size(received)?,
                ChunkElement::DataEnd => take_data_end(received)?,
                ChunkElement::Trailer => self.take_trailer(received)?,
                ChunkElement::Data(_) | ChunkElement::End => return Ok(()),
            };
            match next {
                Some(next) => self.next = next,
                None => return Ok(()),
            }
        }
    }

    fn take_size(&mut self, received: &mut BytesMut) -> Result<Option<ChunkElement>, Box<Error>> {
        // httparse takes an empty line for a size of 0.
        if received
            .first()
            .is_some_and(|first| !first.is_ascii_hexdigit())
        {
            return Err(invalid("size"));
        }
        let parsed = httparse::parse_chunk_size(received);
        let Status::Complete((length, size)) = parsed.map_err(|_| invalid("size"))? else {
            let is_too_long = received.len() > SIZE_LINE_MAX;
            return if is_too_long {
                Err(invalid("size"))
            } else {
                Ok(None)
            };
        };
        let digits = received.iter().take_while(|byte| byte.is_ascii_hexdigit());
        self.add_extra(length - "\r\n".len() - digits.count())?;
        received.advance(length);
        Ok(Some(match size {
            0 => ChunkElement::Trailer,
            size => ChunkElement::Data(size),
        }))
    }

    /// Takes a trailer, or the empty line that ends the body.
    fn take_trailer(
        &mut self,
        received: &mut BytesMut,
    ) -> Result<Option<ChunkElement>, Box<Error>> {
        let end = memchr::memchr(b'\n', received);
        let Some(end) = end else {
            let is_too_long = self.extra_bytes + received.len() > EXTRAS_MAX;
            return if is_too_long {
                Err(invalid("trailer"))
            } else {
                Ok(None)
            };
        };
        let Some(line) = received[..end].strip_suffix(b"\r") else {
            return Err(invalid("trailer"));
        };
        let is_last = line.is_empty();
        if !is_last {
            self.add_extra(end + 1)?;
        }
        received.advance(end + 1);
        Ok(Some(match is_last {
            true => ChunkElement::End,
            false => ChunkElement::Trailer,
        }))
    }

    /// Counts bytes of extensions and trailers.
    fn add_extra(&mut self, bytes: usize) -> Result<(), Box<Error>> {
        self.extra_bytes += bytes;
        match self.extra_bytes > EXTRAS_MAX {
            true => Err(invalid("extension or trailer")),
            false => Ok(()),
        }
    }
}

/// Takes the line break after the data of a chunk.
fn take_data_end(received: &mut BytesMut) -> Result<Option<ChunkElement>, Box<Error>> {
    match received.get(..2) {
        Some(b"\r\n") => received.advance(2),
        Some(_) => return Err(invalid("end")),
        None => return Ok(None),
    }
    Ok(Some(ChunkElement::Size))
}

/// Takes up to `left` bytes, and lowers `left` by their number.
fn take_at_most(received: &mut BytesMut, left: &mut u64) -> Bytes {
    let length = usize::try_from(*left).map_or(received.len(), |left| left.min(received.len()));
    *left -= length as u64;
    received.split_to(length).freeze()
}

fn invalid(element: &str) -> Box<Error> {
    let reason = format!("the {element} of a chunk of the response is invalid");
    Error::explain(INVALID_CHUNK, reason)
}

#[cfg(test)]
mod tests {
    use super::{BodyDecodeResult, ResponseBody, ResponseFraming, ResponseHead};
    use bytes::BytesMut;

    const CHUNKED: &str = "Transfer-Encoding: chunked";

    /// How a body ends.
    #[derive(Debug, PartialEq, Eq)]
    enum Ending {
        Plain,
        /// The body has ended, and another parser could see another end.
        Irregular,
        Open,
        Invalid,
    }

    fn head(field: &str) -> ResponseHead {
        let head = format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n");
        let mut received = BytesMut::from(head.as_bytes());
        ResponseHead::take(&mut received).unwrap().unwrap()
    }

    /// The data of a body that arrives in pieces of `size` bytes, how it ends, and the bytes after its end.
    fn decode(field: &str, body: &str, size: usize) -> (String, Ending, usize) {
        let mut decoder = ResponseBody::for_head(&head(field), false);
        let mut received = BytesMut::new();
        let mut data = Vec::new();
        for piece in body.as_bytes().chunks(size) {
            received.extend_from_slice(piece);
            loop {
                match decoder.decode(&mut received) {
                    Ok(BodyDecodeResult::Chunk(chunk)) => data.extend_from_slice(&chunk),
                    Ok(BodyDecodeResult::Incomplete | BodyDecodeResult::End) => break,
                    Err(_) => return (String::new(), Ending::Invalid, 0),
                }
            }
        }
        let ending = match (decoder.has_ended(), decoder.ended_plainly()) {
            (true, true) => Ending::Plain,
            (true, false) => Ending::Irregular,
            (false, _) => Ending::Open,
        };
        (String::from_utf8(data).unwrap(), ending, received.len())
    }

    #[test]
    fn a_chunked_body_ends_where_every_parser_sees_its_end_or_is_irregular() {
        for (body, data, ending) in [
            ("0\r\n\r\n", "", Ending::Plain),
            ("2\r\n{}\r\n0\r\n\r\n", "{}", Ending::Plain),
            (
                "00A\r\n0123456789\r\n1\r\n\n\r\n000\r\n\r\n",
                "0123456789\n",
                Ending::Plain,
            ),
            ("", "", Ending::Open),
            ("2\r\n{}\r\n", "{}", Ending::Open),
            ("2\r\n{}\r\n0\r\n", "{}", Ending::Open),
            ("2 \r\n{}\r\n0\r\n\r\n", "{}", Ending::Irregular),
            ("2;a\r\n{}\r\n0\r\n\r\n", "{}", Ending::Irregular),
            ("2\r\n{}\r\n0\r\na: b\r\n\r\n", "{}", Ending::Irregular),
            ("2\r\n{}\r\n\r\n", "", Ending::Invalid),
            ("2\r\n{}xx0\r\n\r\n", "", Ending::Invalid),
            ("\r\n", "", Ending::Invalid),
            ("0\r\n\n", "", Ending::Invalid),
            ("0\r\na: b\n\r\n", "", Ending::Invalid),
            ("2\n{}\n0\n\n", "", Ending::Invalid),
            ("0x2\r\n{}\r\n0\r\n\r\n", "", Ending::Invalid),
            ("-2\r\n{}\r\n0\r\n\r\n", "", Ending::Invalid),
            ("10000000000000000\r\n\r\n", "", Ending::Invalid),
            ("{}", "", Ending::Invalid),
        ] {
            for size in [1, 2, 3, 5, 7, 64] {
                let decoded = decode(CHUNKED, body, size);
                let wanted = (data.to_owned(), &ending, 0);
                let (data, end, rest) = &decoded;
                if *end == Ending::Invalid {
                    assert_eq!(*end, ending, "{body:?} in pieces of {size}");
                } else {
                    let found = (data.clone(), end, *rest);
                    assert_eq!(found, wanted, "{body:?} in pieces of {size}");
                }
            }
        }
    }

    #[test]
    fn nothing_after_the_end_is_taken() {
        let with_length = "Content-Length: 2";
        for (field, body) in [
            (CHUNKED, "2\r\n{}\r\n0\r\n\r\nHTTP"),
            (with_length, "{}HTTP"),
        ] {
            for size in [1, 3, 64] {
                assert_eq!(decode(field, body, size), ("{}".into(), Ending::Plain, 4));
            }
        }
    }

    #[test]
    fn lines_without_an_end_are_refused() {
        for body in [
            format!("1;{}", "a".repeat(super::SIZE_LINE_MAX)),
            format!("0\r\n{}", "a".repeat(super::EXTRAS_MAX + 1)),
            format!("0\r\n{}", "a: b\r\n".repeat(super::EXTRAS_MAX / 6 + 1)),
            "1;ab\r\nx\r\n".repeat(super::EXTRAS_MAX / 3 + 1),
        ] {
            assert_eq!(decode(CHUNKED, &body, 1 << 10).1, Ending::Invalid);
        }
    }

    #[test]
    fn the_last_chunk_is_known_to_be_the_last_if_the_end_has_arrived() {
        let mut decoder = ResponseBody::for_head(&head(CHUNKED), false);
        let mut received = BytesMut::from(&b"2\r\n{}\r\n0\r\n\r\n"[..]);
        let decoded = decoder.decode(&mut received).unwrap();
        assert!(matches!(decoded, BodyDecodeResult::Chunk(chunk) if chunk == "{}"));
        assert!(decoder.has_ended());
    }

    #[test]
    fn some_responses_have_no_body_whatever_they_declare() {
        let head = |status: u16| {
            let mut head = head("Content-Length: 9");
            head.status = status.try_into().unwrap();
            head
        };
        for (status, is_head_request, has_ended) in [
            (200, false, false),
            (200, true, true),
            (204, false, true),
            (304, false, true),
            (103, false, true),
        ] {
            let body = ResponseBody::for_head(&head(status), is_head_request);
            assert_eq!(body.has_ended(), has_ended, "{status} {is_head_request}");
        }
        assert_eq!(
            super::ResponseBody::for_head(&self::head("A: b"), false).left(),
            None
        );
        assert_eq!(self::head("A: b").framing, ResponseFraming::Connection);
    }
}
