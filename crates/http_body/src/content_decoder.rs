//! Decodes content codings of bodies within bounds: of requests, and of responses whose provider compresses although
//! nobody requested it.

use brotli::DecompressorWriter;
use bytes::{Bytes, BytesMut};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, header};
use std::io::{self, Write};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder};
use zstd::stream::zio::Writer as ZstdWriter;

/// Up to this many bytes a decoded body may be of any ratio; a larger one may have [`RATIO_MAX`] times the size of its
/// encoded form.
const UNCHECKED_BYTES: usize = 4 << 20;
/// JSON and base64 take a tenth to a half; what is a hundred times smaller was made to take memory.
pub const RATIO_MAX: usize = 100;
/// Work memory of the decoder of `br`, in bytes.
const BROTLI_BUFFER: usize = 4096;
/// The largest window of `zstd`, as a power of two: 8 MiB, which every sender keeps to (RFC 9659).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// The first byte of gzip, which begins neither JSON nor events.
const GZIP_START: u8 = 0x1f;

/// The content codings that are decoded (RFC 9110, section 8.4.1; `br` is RFC 7932, `zstd` RFC 8878).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentCoding {
    Gzip,
    /// With or without the zlib header: servers send both.
    Deflate,
    Brotli,
    Zstd,
}

/// Why a body cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum ContentDecodingError {
    #[error("more than {bytes_max} bytes when decoded")]
    TooLarge {
        bytes_max: usize,
        /// Whether the bound follows from the encoded size.
        is_by_ratio: bool,
    },
    #[error("{0}")]
    Malformed(#[from] io::Error),
}

/// A decoder of one body.
pub struct ContentDecoder {
    stream: DecoderStream,
    encoded_bytes: usize,
    decoded_bytes_max: usize,
    is_finished: bool,
}

enum DecoderStream {
    Gzip(MultiGzDecoder<DecodedBytesSink>),
    /// Decided by the first byte of the body.
    Deflate,
    Zlib(ZlibDecoder<DecodedBytesSink>),
    RawDeflate(DeflateDecoder<DecodedBytesSink>),
    Brotli(Box<DecompressorWriter<DecodedBytesSink>>),
    Zstd(Box<ZstdWriter<DecodedBytesSink, ZstdDecoder<'static>>>),
}

/// What was decoded and not taken yet.
#[derive(Default)]
struct DecodedBytesSink {
    bytes: BytesMut,
    total: usize,
    bytes_max: usize,
}

impl ContentCoding {
    /// The one coding of a response; `None` if there is none, several, or one that is not known.
    pub fn named_by(headers: &HeaderMap) -> Option<Self> {
        let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
        let coding = codings.next()?.to_str().ok()?.trim().to_ascii_lowercase();
        match (codings.next(), coding.as_str()) {
            (Some(_), _) => None,
            (None, "gzip" | "x-gzip") => Some(Self::Gzip),
            (None, "deflate") => Some(Self::Deflate),
            (None, "br") => Some(Self::Brotli),
            (None, "zstd") => Some(Self::Zstd),
            (None, _) => None,
        }
    }

    /// The coding of a body that declares none, by its first bytes.
    pub fn sniffed(start: &[u8]) -> Option<Self> {
        (start.first() == Some(&GZIP_START)).then_some(Self::Gzip)
    }
}

impl ContentDecoder {
    /// A decoder of a body of `decoded_bytes_max` at most.
    pub fn new(coding: ContentCoding, decoded_bytes_max: usize) -> Self {
        let sink = DecodedBytesSink::default();
        let stream = match coding {
            ContentCoding::Gzip => DecoderStream::Gzip(MultiGzDecoder::new(sink)),
            ContentCoding::Deflate => DecoderStream::Deflate,
            ContentCoding::Brotli => {
                DecoderStream::Brotli(Box::new(DecompressorWriter::new(sink, BROTLI_BUFFER)))
            }
            ContentCoding::Zstd => {
                let mut decoder = ZstdDecoder::new().expect("a decoder without a dictionary");
                let window = DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX);
                let set = decoder.set_parameter(window);
                set.expect("the window is one that zstd has");
                DecoderStream::Zstd(Box::new(ZstdWriter::new(sink, decoder)))
            }
        };
        Self {
            stream,
            encoded_bytes: 0,
            decoded_bytes_max,
            is_finished: false,
        }
    }

    /// Decodes the next chunk; the result may be empty.
    ///
    /// # Errors
    /// The body is not of the coding, or is larger than a bound.
    pub fn decode(&mut self, chunk: &[u8]) -> Result<Bytes, ContentDecodingError> {
        if chunk.is_empty() {
            return Ok(Bytes::new());
        }
        self.encoded_bytes += chunk.len();
        let by_ratio = self
            .encoded_bytes
            .saturating_mul(RATIO_MAX)
            .max(UNCHECKED_BYTES);
        let bytes_max = by_ratio.min(self.decoded_bytes_max);
        if let DecoderStream::Deflate = self.stream {
            let sink = DecodedBytesSink::default();
            // The compression method of the zlib header is in its low bits.
            self.stream = match chunk[0] & 0x0f {
                8 => DecoderStream::Zlib(ZlibDecoder::new(sink)),
                _ => DecoderStream::RawDeflate(DeflateDecoder::new(sink)),
            };
        }
        if let Some(sink) = self.stream.sink() {
            sink.bytes_max = bytes_max;
        }
        if let Some(writer) = self.stream.writer() {
            let written = writer.write_all(chunk).and_then(|()| writer.flush());
            written.map_err(|error| self.decoding_error(error))?;
        }
        Ok(self.take())
    }

    /// Ends the body. Further calls return nothing.
    ///
    /// # Errors
    /// The body is cut off.
    pub fn finish(&mut self) -> Result<Bytes, ContentDecodingError> {
        // A body of no bytes is empty, whatever its head says.
        if std::mem::replace(&mut self.is_finished, true) || self.encoded_bytes == 0 {
            return Ok(Bytes::new());
        }
        let finished = match &mut self.stream {
            DecoderStream::Gzip(decoder) => decoder.try_finish(),
            DecoderStream::Zlib(decoder) => check_end(decoder).and_then(|()| decoder.try_finish()),
            DecoderStream::RawDeflate(decoder) => {
                check_end(decoder).and_then(|()| decoder.try_finish())
            }
            DecoderStream::Brotli(decoder) => decoder.close(),
            DecoderStream::Zstd(decoder) => decoder.finish(),
            DecoderStream::Deflate => Ok(()),
        };
        finished.map_err(|error| self.decoding_error(error))?;
        Ok(self.take())
    }

    fn decoding_error(&mut self, error: io::Error) -> ContentDecodingError {
        let decoded_bytes_max = self.decoded_bytes_max;
        match self.stream.sink() {
            Some(sink) if sink.total > sink.bytes_max => ContentDecodingError::TooLarge {
                bytes_max: sink.bytes_max,
                is_by_ratio: sink.bytes_max < decoded_bytes_max,
            },
            _ => ContentDecodingError::Malformed(error),
        }
    }

    fn take(&mut self) -> Bytes {
        let sink = self.stream.sink();
        sink.map_or_else(Bytes::new, |sink| sink.bytes.split().freeze())
    }
}

impl DecoderStream {
    /// `None` before the first byte of a body decides which decoder it is.
    fn sink(&mut self) -> Option<&mut DecodedBytesSink> {
        match self {
            Self::Gzip(decoder) => Some(decoder.get_mut()),
            Self::Zlib(decoder) => Some(decoder.get_mut()),
            Self::RawDeflate(decoder) => Some(decoder.get_mut()),
            Self::Brotli(decoder) => Some(decoder.get_mut()),
            Self::Zstd(decoder) => Some(decoder.writer_mut()),
            Self::Deflate => None,
        }
    }

    fn writer(&mut self) -> Option<&mut dyn Write> {
        match self {
            Self::Gzip(decoder) => Some(decoder),
            Self::Zlib(decoder) => Some(decoder),
            Self::RawDeflate(decoder) => Some(decoder),
            Self::Brotli(decoder) => Some(&mut **decoder),
            Self::Zstd(decoder) => Some(&mut **decoder),
            Self::Deflate => None,
        }
    }
}

impl Write for DecodedBytesSink {
    fn write(&mut self, decoded: &[u8]) -> io::Result<usize> {
        self.total = self.total.saturating_add(decoded.len());
        if self.total > self.bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(decoded);
        Ok(decoded.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the last block was decoded: only then the decoder takes no further byte. It does not report a cut by itself.
fn check_end(decoder: &mut impl Write) -> io::Result<()> {
    match decoder.write(&[0])? {
        0 => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    const MAX: usize = 512 << 20;
    const TEXT: &str = r#"{"choices":[{"message":{"content":"hello"}}]}"#;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn encoded(coding: ContentCoding, has_header: bool) -> Vec<u8> {
        match (coding, has_header) {
            (ContentCoding::Gzip, _) => gzip(TEXT.as_bytes()),
            (ContentCoding::Deflate, true) => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(TEXT.as_bytes()).unwrap();
                encoder.finish().unwrap()
            }
            (ContentCoding::Deflate, false) => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(TEXT.as_bytes()).unwrap();
                encoder.finish().unwrap()
            }
            (ContentCoding::Brotli, _) => {
                let mut encoded = Vec::new();
                let mut encoder = brotli::CompressorWriter::new(&mut encoded, 4096, 5, 22);
                encoder.write_all(TEXT.as_bytes()).unwrap();
                drop(encoder);
                encoded
            }
            (ContentCoding::Zstd, _) => zstd::encode_all(TEXT.as_bytes(), 3).unwrap(),
        }
    }

    #[test]
    fn each_coding_is_decoded_in_whatever_pieces_it_arrives_and_a_cut_is_an_error() {
        for (coding, has_header) in [
            (ContentCoding::Gzip, true),
            (ContentCoding::Deflate, true),
            (ContentCoding::Deflate, false),
            (ContentCoding::Brotli, true),
            (ContentCoding::Zstd, true),
        ] {
            let body = encoded(coding, has_header);
            for piece in [1, 7, body.len()] {
                let mut decoder = ContentDecoder::new(coding, MAX);
                let mut decoded = Vec::new();
                for chunk in body.chunks(piece) {
                    decoded.extend_from_slice(&decoder.decode(chunk).unwrap());
                }
                decoded.extend_from_slice(&decoder.finish().unwrap());
                assert_eq!(decoded, TEXT.as_bytes(), "{coding:?} {piece}");
            }
            let mut decoder = ContentDecoder::new(coding, MAX);
            let cut = decoder.decode(&body[..body.len() - 6]);
            assert!(cut.is_err() || decoder.finish().is_err(), "{coding:?}");
        }
    }

    #[test]
    fn a_body_that_is_much_larger_than_its_encoded_form_is_refused() {
        let bomb = gzip(&vec![b' '; 64 << 20]);
        let mut decoder = ContentDecoder::new(ContentCoding::Gzip, MAX);
        let decoded = bomb
            .chunks(1 << 10)
            .map(|chunk| decoder.decode(chunk))
            .find_map(Result::err);
        assert!(decoded.is_some());
        let mut decoder = ContentDecoder::new(ContentCoding::Gzip, MAX);
        let small = gzip(&vec![b' '; 1 << 20]);
        assert_eq!(decoder.decode(&small).unwrap().len(), 1 << 20);
    }

    #[test]
    fn what_is_not_of_the_coding_is_an_error() {
        for coding in [
            ContentCoding::Gzip,
            ContentCoding::Deflate,
            ContentCoding::Brotli,
            ContentCoding::Zstd,
        ] {
            let mut decoder = ContentDecoder::new(coding, MAX);
            let decoded = decoder.decode(TEXT.as_bytes());
            assert!(decoded.is_err() || decoder.finish().is_err(), "{coding:?}");
        }
    }
}
