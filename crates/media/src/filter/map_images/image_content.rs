//! The content of an image within a body, read piece by piece.

use crate::{ContentDescriptor, ContentHasher, detect_content_type, split_pieces};
use bytes::Bytes;
use headgate_core::task::media_kind::MediaKind;
use headgate_protocol::data_uri::{DataUri, InvalidDataUri};

/// Bytes by which the kind of content is recognised.
const START_BYTES: usize = 4 << 10;
/// Bytes of a file that are read at a time.
const PIECE_BYTES: usize = 128 << 10;

/// Where the bytes of an image are.
pub(super) enum InlineImageContent {
    Base64(DataUri),
    File(Bytes),
}

/// Why content is not stored as an image, for its sender.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidImage {
    #[error("is an invalid data URI: {0}")]
    DataUri(#[from] InvalidDataUri),
    #[error(
        "must be an image, such as PNG, JPEG or WebP, but its content is something else; send the file itself"
    )]
    NotAnImage,
}

impl InlineImageContent {
    /// Reads the content once, and keeps nothing but what identifies it.
    ///
    /// # Errors
    /// It cannot be decoded, or is no image.
    pub fn identify(&self) -> Result<ContentDescriptor, InvalidImage> {
        let mut identification = ImageContentScan::default();
        self.read(|piece| identification.add(piece))?;
        identification.end().ok_or(InvalidImage::NotAnImage)
    }

    /// Checks that the content is an image by its first bytes, and that its base64 is valid.
    ///
    /// # Errors
    /// It cannot be decoded, or is no image.
    pub fn check(&self) -> Result<(), InvalidImage> {
        let mut start = Vec::new();
        match self {
            Self::Base64(_) => self.read(|piece| {
                let missing = START_BYTES.saturating_sub(start.len());
                start.extend_from_slice(&piece[..missing.min(piece.len())]);
            })?,
            Self::File(content) => {
                start.extend_from_slice(&content[..START_BYTES.min(content.len())])
            }
        }
        match detect_content_type(MediaKind::Image, &start, "") {
            Ok(_) => Ok(()),
            Err(_) => Err(InvalidImage::NotAnImage),
        }
    }

    /// Bytes that [`Self::check`] reads.
    pub fn work_bytes(&self) -> usize {
        match self {
            Self::Base64(uri) => uri.text_bytes(),
            Self::File(content) => content.len().min(START_BYTES),
        }
    }

    /// The head of a data URI as providers expect it, as [`DataUri::canonical_head`].
    pub fn canonical_head(&self) -> Option<(usize, String)> {
        match self {
            Self::Base64(uri) => uri.canonical_head(),
            Self::File(_) => None,
        }
    }

    /// Shows all of the content to `look`, decoded, a piece at a time.
    fn read(&self, mut look: impl FnMut(&[u8])) -> Result<(), InvalidDataUri> {
        match self {
            Self::Base64(uri) => {
                let (mut decoder, mut piece) = (uri.decoder(), Vec::new());
                loop {
                    decoder.next_piece(&mut piece)?;
                    if piece.is_empty() {
                        return Ok(());
                    }
                    look(&piece);
                }
            }
            Self::File(content) => {
                content.chunks(PIECE_BYTES).for_each(look);
                Ok(())
            }
        }
    }

    /// The content, whose base64 is known to be valid.
    pub fn pieces(self) -> Box<dyn Iterator<Item = Bytes> + Send> {
        match self {
            Self::Base64(uri) => Box::new(uri.decoded_pieces()),
            Self::File(content) => Box::new(split_pieces(content)),
        }
    }
}

#[derive(Default)]
struct ImageContentScan {
    hasher: ContentHasher,
    size: u64,
    start: Vec<u8>,
}

impl ImageContentScan {
    fn add(&mut self, piece: &[u8]) {
        let missing = START_BYTES - self.start.len();
        self.start
            .extend_from_slice(&piece[..missing.min(piece.len())]);
        self.hasher.update(piece);
        self.size += piece.len() as u64;
    }

    /// `None` if the content is no image.
    fn end(self) -> Option<ContentDescriptor> {
        Some(ContentDescriptor {
            content_type: detect_content_type(MediaKind::Image, &self.start, "")
                .ok()?
                .to_owned(),
            digest: self.hasher.digest(),
            size: self.size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContentDigest;

    #[test]
    fn a_file_and_its_base64_are_the_same_content() {
        let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        file.resize(3 * PIECE_BYTES + 1, 7);
        let mut base64 = Vec::new();
        headgate_protocol::images::encode_onto(&mut base64, &file);
        for content in [
            InlineImageContent::Base64(DataUri::from_base64(base64.into())),
            InlineImageContent::File(file.clone().into()),
        ] {
            let identified = content.identify().unwrap();
            assert_eq!(identified.digest, ContentDigest::from_content(&file));
            assert_eq!(identified.size, file.len() as u64);
            assert_eq!(identified.content_type, "image/png");
            let pieces: Vec<Bytes> = content.pieces().collect();
            assert_eq!(pieces.concat(), file);
        }
    }

    #[test]
    fn what_is_no_image_is_named() {
        for (text, reason) in [
            ("aGVsbG8=", "must be an image"),
            ("", "must be an image"),
            ("A", "base64 is invalid"),
        ] {
            let content = InlineImageContent::Base64(DataUri::from_base64(text.into()));
            for error in [
                content.check().unwrap_err(),
                content.identify().unwrap_err(),
            ] {
                let error = error.to_string();
                assert!(error.contains(reason), "{text}: {error}");
            }
        }
    }
}
