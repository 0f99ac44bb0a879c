//! Generates black PNG images of any size in pixels and in bytes.

use png::chunk::ChunkType;
use png::{BitDepth, ColorType, Encoder, EncodingError};
use std::fmt;

/// The size of a PNG chunk without its content: length, type and checksum.
const CHUNK_BYTES: usize = 12;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize {
    width: u32,
    height: u32,
}

impl ImageSize {
    /// The size if the request leaves it to the provider.
    pub const ORDINARY: Self = Self {
        width: 1024,
        height: 1024,
    };

    const SIDE_MAX: u32 = 8192;

    /// Parses `<width>x<height>`, each 1 to 8192.
    pub fn parse(text: &str) -> Option<Self> {
        let (width, height) = text.split_once('x')?;
        let side = |text: &str| {
            let side = text.parse().ok();
            side.filter(|side| (1..=Self::SIDE_MAX).contains(side))
        };
        Some(Self {
            width: side(width)?,
            height: side(height)?,
        })
    }

    /// The tokens that an image of this size counts for.
    pub fn tokens(self) -> u64 {
        (u64::from(self.width) * u64::from(self.height)).div_ceil(256) + 64
    }
}

impl fmt::Display for ImageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// A black image of at least `bytes` bytes, padded with a chunk that decoders skip.
pub fn image(size: ImageSize, bytes: usize) -> Vec<u8> {
    let encoded = |padding| encode(size, padding).expect("memory takes what is written to it");
    let image = encoded(None);
    let short_of = bytes.saturating_sub(image.len());
    match short_of.checked_sub(CHUNK_BYTES) {
        Some(padding) => encoded(Some(padding)),
        None => image,
    }
}

/// Encodes one bit of grey per pixel, and a chunk of `padding` zeros.
fn encode(size: ImageSize, padding: Option<usize>) -> Result<Vec<u8>, EncodingError> {
    let mut image = Vec::new();
    let mut encoder = Encoder::new(&mut image, size.width, size.height);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    let mut writer = encoder.write_header()?;
    let row_bytes = size.width.div_ceil(8) as usize;
    writer.write_image_data(&vec![0; row_bytes * size.height as usize])?;
    if let Some(padding) = padding {
        writer.write_chunk(ChunkType(*b"paDd"), &vec![0; padding])?;
    }
    writer.finish()?;
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_within_bounds() {
        for (text, read) in [
            ("1024x1536", Some("1024x1536")),
            ("0x1", None),
            ("9000x1", None),
            ("auto", None),
            ("", None),
        ] {
            let size = ImageSize::parse(text).map(|size| size.to_string());
            assert_eq!(size.as_deref(), read, "{text}");
        }
    }

    #[test]
    fn an_image_has_exactly_the_bytes_asked_for_if_it_needs_no_more() {
        let smallest = image(ImageSize::ORDINARY, 0).len();
        assert!(smallest < 2_000, "{smallest}");
        for (requested, bytes) in [
            (smallest, smallest),
            (smallest + 12, smallest + 12),
            (100_000, 100_000),
        ] {
            let image = image(ImageSize::ORDINARY, requested);
            assert_eq!(image.len(), bytes);
            let mut reader = png::Decoder::new(std::io::Cursor::new(image))
                .read_info()
                .unwrap();
            let mut pixels = vec![1; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            reader.finish().unwrap();
            assert!(pixels.iter().all(|byte| *byte == 0));
        }
    }
}
