//! Reads the content of a data URI from any position, for readers of file formats, with bounded work.

use super::{DataUri, DataUriPayloadDecoder, PIECE_CHARS};
use bytes::Bytes;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

/// Decoded bytes of each piece but the last.
const PIECE_BYTES: u64 = (PIECE_CHARS / 4 * 3) as u64;
/// Pieces that one reader decodes, 48 MiB; then it fails.
const PIECES_MAX: u32 = 512;
/// Reads and seeks of one reader; then it fails.
const OPERATIONS_MAX: u32 = 1 << 20;

/// Where the pieces of a data URI start, as its decoder found them.
#[derive(Clone, Debug, Default)]
pub struct DataUriPieceIndex {
    /// Offsets in the text.
    starts: Vec<u32>,
    /// Decoded bytes.
    len: u64,
}

/// The content of a data URI as a file. It holds one piece, and fails with an error once it has done too much work.
pub struct DataUriReader<'a> {
    text: Bytes,
    index: &'a DataUriPieceIndex,
    at: u64,
    /// The piece that is decoded, and its number.
    piece: Vec<u8>,
    number: Option<u64>,
    pieces_left: u32,
    operations_left: u32,
}

impl DataUriPieceIndex {
    /// Notes that `decoder` is about to decode a piece.
    pub fn begin_piece(&mut self, decoder: &DataUriPayloadDecoder) {
        // A request has less than 4 GiB: offsets of its tape are of 32 bits.
        self.starts.push(decoder.text.at as u32);
    }

    /// Notes the decoded size of the piece.
    pub fn end_piece(&mut self, bytes: usize) {
        self.len += bytes as u64;
    }
}

impl<'a> DataUriReader<'a> {
    /// `index` must be that of the whole data URI.
    pub fn new(uri: &DataUri, index: &'a DataUriPieceIndex) -> Self {
        Self {
            text: uri.payload.clone(),
            index,
            at: 0,
            piece: Vec::new(),
            number: None,
            pieces_left: PIECES_MAX,
            operations_left: OPERATIONS_MAX,
        }
    }

    pub fn len(&self) -> u64 {
        self.index.len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn spend(left: &mut u32) -> Result<()> {
        *left = left.checked_sub(1).ok_or_else(|| {
            let reason = "the file needs more work than a check may do";
            Error::new(ErrorKind::QuotaExceeded, reason)
        })?;
        Ok(())
    }

    fn decode(&mut self, number: u64) -> Result<()> {
        if self.number == Some(number) {
            return Ok(());
        }
        Self::spend(&mut self.pieces_left)?;
        self.number = None;
        let start = usize::try_from(number)
            .ok()
            .and_then(|number| self.index.starts.get(number));
        let start = *start.ok_or(ErrorKind::UnexpectedEof)? as usize;
        let mut decoder = DataUriPayloadDecoder::at(self.text.clone(), start);
        decoder
            .next_piece(&mut self.piece)
            .map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
        self.number = Some(number);
        Ok(())
    }
}

impl Read for DataUriReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        Self::spend(&mut self.operations_left)?;
        if self.at >= self.index.len || into.is_empty() {
            return Ok(0);
        }
        self.decode(self.at / PIECE_BYTES)?;
        let rest = self.piece.get((self.at % PIECE_BYTES) as usize..);
        let rest = rest.unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for DataUriReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        Self::spend(&mut self.operations_left)?;
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.index.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    fn build_index(uri: &DataUri) -> DataUriPieceIndex {
        let (mut index, mut decoder) = (DataUriPieceIndex::default(), uri.decoder());
        let mut piece = Vec::new();
        loop {
            index.begin_piece(&decoder);
            decoder.next_piece(&mut piece).unwrap();
            if piece.is_empty() {
                return index;
            }
            index.end_piece(piece.len());
        }
    }

    fn data_uri(content: &[u8], escape: bool) -> DataUri {
        let mut base64 = STANDARD.encode(content);
        if escape {
            base64 = base64.replace('/', r"\/").replace('A', r"\u0041\n");
        }
        let text = Bytes::from(format!("data:video/mp4;base64,{base64}"));
        DataUri::read(&text).unwrap().unwrap()
    }

    #[test]
    fn any_part_of_the_content_can_be_read_in_any_order_also_with_escapes() {
        let content: Vec<u8> = (0..700_000_u32)
            .map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0])
            .collect();
        for escape in [false, true] {
            let uri = data_uri(&content, escape);
            let index = build_index(&uri);
            let mut reader = DataUriReader::new(&uri, &index);
            assert_eq!(reader.len(), 700_000);
            for (at, count) in [
                (0, 10),
                (699_990, 10),
                (98_300, 10),
                (98_304, 98_304),
                (1, 300_000),
                (500_000, 200_000),
            ] {
                let mut read = vec![0; count];
                reader.seek(SeekFrom::Start(at)).unwrap();
                reader.read_exact(&mut read).unwrap();
                assert!(read == content[at as usize..at as usize + count], "{at}");
            }
            assert_eq!(reader.seek(SeekFrom::End(-3)).unwrap(), 699_997);
            let mut rest = Vec::new();
            reader.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, content[699_997..]);
            assert!(reader.seek(SeekFrom::Current(-700_001)).is_err());
            reader.seek(SeekFrom::Start(u64::MAX)).unwrap();
            assert_eq!(reader.read(&mut [0; 4]).unwrap(), 0);
        }
    }

    #[test]
    fn a_reader_that_seeks_back_and_forth_without_end_gets_an_error() {
        let uri = data_uri(&[7; 200_000], false);
        let index = build_index(&uri);
        let mut reader = DataUriReader::new(&uri, &index);
        let mut byte = [0];
        let mut read = |at| {
            reader.seek(SeekFrom::Start(at))?;
            reader.read_exact(&mut byte)
        };
        let failed = (0..2000).find_map(|round| read(round % 2 * 100_000).err());
        assert_eq!(failed.unwrap().kind(), ErrorKind::QuotaExceeded);
    }
}
