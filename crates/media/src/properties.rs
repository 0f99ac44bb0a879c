//! Duration, frame rate and dimensions of media, as their containers state them. Nothing is decoded.

mod adts;
mod ebml;
mod mp4;

use headgate_core::task::media_kind::MediaKind;
use lofty::config::ParseOptions;
use lofty::file::AudioFile;
use lofty::flac::FlacFile;
use lofty::iff::wav::WavFile;
use lofty::mpeg::MpegFile;
use lofty::ogg::{OpusFile, VorbisFile};
use lofty::properties::FileProperties;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::time::Duration;

/// What a file states of itself; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MediaProperties {
    /// What the tracks are: a video if one of them is; `None` if the container does not say.
    pub kind: Option<MediaKind>,
    pub duration: Option<Duration>,
    /// Images in a second.
    pub frame_rate: Option<f64>,
    /// Width and height in pixels.
    pub dimensions: Option<(u32, u32)>,
}

impl MediaProperties {
    /// Reads the properties of a file of a content type that
    /// [`detect_content_type`](super::detect_content_type) has returned. What is damaged, or has a format that is not read, has
    /// no properties. Nothing may panic here, since release builds abort then.
    ///
    /// Readers loop and allocate as files tell them to. `file` must bound its reads, and they bound both.
    pub fn read(content_type: &str, file: &mut (impl Read + Seek)) -> Self {
        match content_type {
            "video/mp4" | "audio/mp4" | "video/quicktime" | "video/3gpp" | "audio/3gpp" => {
                mp4::read(file).unwrap_or_default()
            }
            "audio/x-wav" => Self::from_audio::<WavFile>(file),
            "audio/mpeg" => Self::from_audio::<MpegFile>(file),
            "audio/x-flac" => Self::from_audio::<FlacFile>(file),
            "audio/aac" => Self {
                kind: Some(MediaKind::Audio),
                duration: adts::duration(file),
                ..Self::default()
            },
            "audio/ogg" => Self::read_ogg(file).unwrap_or_default(),
            "video/webm" | "audio/webm" | "video/x-matroska" | "audio/x-matroska" => {
                ebml::read(file).unwrap_or_default()
            }
            "image/avif" | "image/heif" => Self::default(),
            image if image.starts_with("image/") => Self::from_image(file),
            _ => Self::default(),
        }
    }

    /// Sound in Ogg, by the codec that its first page names.
    fn read_ogg(file: &mut (impl Read + Seek)) -> Option<Self> {
        let mut start = [0; 64];
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_exact(&mut start).ok()?;
        file.seek(SeekFrom::Start(0)).ok()?;
        let names = |codec: &[u8]| memchr::memmem::find(&start, codec).is_some();
        match () {
            () if names(b"\x01vorbis") => Some(Self::from_audio::<VorbisFile>(file)),
            () if names(b"OpusHead") => Some(Self::from_audio::<OpusFile>(file)),
            () => None,
        }
    }

    /// Whether a file does not state its duration although it could be read, or is of a format whose duration is not
    /// read. What a damaged file would state is the provider's to check.
    pub fn lacks_duration(&self, content_type: &str) -> bool {
        let is_unstated = match content_type {
            "video/mp4" | "audio/mp4" | "video/quicktime" | "video/3gpp" | "audio/3gpp" => {
                self.kind.is_some()
            }
            "audio/x-wav" | "audio/mpeg" => false,
            _ => true,
        };
        is_unstated && self.duration.is_none()
    }

    fn from_image(file: &mut (impl Read + Seek)) -> Self {
        let size = imagesize::reader_size(BufReader::new(file)).ok();
        let dimensions = size.and_then(|size| {
            let (width, height) = (size.width.try_into().ok()?, size.height.try_into().ok()?);
            Some((width, height))
        });
        Self {
            kind: Some(MediaKind::Image),
            dimensions,
            ..Self::default()
        }
    }

    fn from_audio<F: AudioFile>(file: &mut (impl Read + Seek)) -> Self
    where
        F::Properties: Clone + Into<FileProperties>,
    {
        let mut options = ParseOptions::new();
        options.read_tags(false).read_cover_art(false);
        let duration = F::read_from(file, options).ok().map(|audio| {
            let properties: FileProperties = audio.properties().clone().into();
            properties.duration()
        });
        Self {
            kind: Some(MediaKind::Audio),
            duration: duration.filter(|duration| !duration.is_zero()),
            ..Self::default()
        }
    }
}
