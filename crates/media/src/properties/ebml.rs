//! Matroska and WebM files (RFC 9559): what the elements `Info` and `Tracks` of their segment state.

use super::MediaProperties;
use headgate_core::task::media_kind::MediaKind;
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

const SEGMENT: u32 = 0x1853_8067;
const INFO: u32 = 0x1549_A966;
const TIMESTAMP_SCALE: u32 = 0x002A_D7B1;
const DURATION: u32 = 0x4489;
const TRACKS: u32 = 0x1654_AE6B;
const TRACK_ENTRY: u32 = 0xAE;
const TRACK_TYPE: u32 = 0x83;
const DEFAULT_DURATION: u32 = 0x0023_E383;
const VIDEO: u32 = 0xE0;
const PIXEL_WIDTH: u32 = 0xB0;
const PIXEL_HEIGHT: u32 = 0xBA;

/// Elements that are passed on the way to both.
const ELEMENTS_MAX: usize = 10_000;
/// Largest `Info` or `Tracks` that is read.
const ELEMENT_BYTES_MAX: u64 = 1 << 20;
/// Nanoseconds of a unit of `Duration` if the file does not say.
const DEFAULT_SCALE: u64 = 1_000_000;

#[derive(Default)]
struct MatroskaSegment {
    duration: Option<Duration>,
    has_info: bool,
    tracks: Option<Vec<MatroskaTrack>>,
}

#[derive(Default)]
struct MatroskaTrack {
    track_type: u64,
    /// Nanoseconds of a frame.
    frame_duration: Option<u64>,
    dimensions: Option<(u32, u32)>,
}

/// The properties; `None` if the file has no readable tracks.
pub(super) fn read(file: &mut (impl Read + Seek)) -> Option<MediaProperties> {
    let end = file.seek(SeekFrom::End(0)).ok()?;
    let (mut at, mut segment) = (0, MatroskaSegment::default());
    for _ in 0..ELEMENTS_MAX {
        if at >= end || segment.has_info && segment.tracks.is_some() {
            break;
        }
        file.seek(SeekFrom::Start(at)).ok()?;
        let (id, size) = read_header(file)?;
        let start = file.stream_position().ok()?;
        match (id, size) {
            // Its elements follow.
            (SEGMENT, _) => at = start,
            (INFO | TRACKS, Some(size)) if size <= ELEMENT_BYTES_MAX => {
                let mut body = Vec::new();
                file.take(size).read_to_end(&mut body).ok()?;
                segment.add(id, &body);
                at = start.checked_add(size)?;
            }
            (_, Some(size)) => at = start.checked_add(size)?,
            // A cluster of a live stream: what follows cannot be found without reading it.
            (_, None) => break,
        }
    }
    segment.properties()
}

impl MatroskaSegment {
    fn add(&mut self, id: u32, body: &[u8]) {
        if id == INFO {
            let scale = find(body, TIMESTAMP_SCALE).map_or(DEFAULT_SCALE, unsigned);
            let units = find(body, DURATION).and_then(float);
            let seconds = units.map(|units| units * scale as f64 / 1e9);
            let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            self.duration = duration.filter(|duration| !duration.is_zero());
            self.has_info = true;
        } else {
            let tracks = elements(body).filter(|(id, _)| *id == TRACK_ENTRY);
            self.tracks = Some(tracks.map(|(_, body)| MatroskaTrack::read(body)).collect());
        }
    }

    fn properties(self) -> Option<MediaProperties> {
        let tracks = self.tracks?;
        let video = tracks.iter().find(|track| track.track_type == 1);
        let has_audio = tracks.iter().any(|track| track.track_type == 2);
        let kind = match (video, has_audio) {
            (Some(_), _) => MediaKind::Video,
            (None, true) => MediaKind::Audio,
            (None, false) => return None,
        };
        let frame_duration = video.and_then(|track| track.frame_duration);
        Some(MediaProperties {
            kind: Some(kind),
            duration: self.duration,
            frame_rate: frame_duration.map(|nanoseconds| 1e9 / nanoseconds as f64),
            dimensions: video.and_then(|track| track.dimensions),
        })
    }
}

impl MatroskaTrack {
    fn read(body: &[u8]) -> Self {
        let video = find(body, VIDEO).unwrap_or_default();
        let pixels = |id| find(video, id).and_then(|value| u32::try_from(unsigned(value)).ok());
        let dimensions = pixels(PIXEL_WIDTH).zip(pixels(PIXEL_HEIGHT));
        let frame_duration = find(body, DEFAULT_DURATION).map(unsigned);
        Self {
            track_type: find(body, TRACK_TYPE).map_or(0, unsigned),
            frame_duration: frame_duration.filter(|nanoseconds| *nanoseconds > 0),
            dimensions: dimensions.filter(|(width, height)| *width > 0 && *height > 0),
        }
    }
}

/// The id and the size of an element; the size is `None` if it is unknown.
fn read_header(file: &mut impl Read) -> Option<(u32, Option<u64>)> {
    let mut first = [0];
    file.read_exact(&mut first).ok()?;
    let length = first[0].leading_zeros() as usize;
    let mut rest = [0; 8];
    let rest_of_id = rest.get_mut(..length).filter(|_| length < 4)?;
    file.read_exact(rest_of_id).ok()?;
    let id = rest_of_id.iter().fold(u32::from(first[0]), push_u32);
    file.read_exact(&mut first).ok()?;
    let length = first[0].leading_zeros() as usize;
    let rest_of_size = rest.get_mut(..length).filter(|_| length < 8)?;
    file.read_exact(rest_of_size).ok()?;
    let mask = 0x7F_u8.checked_shr(length as u32).unwrap_or_default();
    let is_unknown = first[0] & mask == mask && rest_of_size.iter().all(|byte| *byte == 0xFF);
    let size = rest_of_size.iter().fold(u64::from(first[0] & mask), push);
    Some((id, (!is_unknown).then_some(size)))
}

/// The elements in the body of one, with their ids; ends at the first whose size is wrong.
fn elements(mut body: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    std::iter::from_fn(move || {
        let (id, size) = read_header(&mut body)?;
        let (inner, rest) = body.split_at_checked(usize::try_from(size?).ok()?)?;
        body = rest;
        Some((id, inner))
    })
}

fn find(body: &[u8], id: u32) -> Option<&[u8]> {
    let mut elements = elements(body);
    elements.find_map(|(known, inner)| (known == id).then_some(inner))
}

fn unsigned(value: &[u8]) -> u64 {
    value.iter().take(8).fold(0, push)
}

fn float(value: &[u8]) -> Option<f64> {
    match value.len() {
        4 => Some(f32::from_be_bytes(value.try_into().ok()?).into()),
        8 => Some(f64::from_be_bytes(value.try_into().ok()?)),
        _ => None,
    }
}

fn push(number: u64, byte: &u8) -> u64 {
    number << 8 | u64::from(*byte)
}

fn push_u32(number: u32, byte: &u8) -> u32 {
    number << 8 | u32::from(*byte)
}
