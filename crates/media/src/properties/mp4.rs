//! Files of the ISO base media format (MP4, MOV, M4A, 3GP): the tracks of their `moov` box.

mod fragments;

use super::MediaProperties;
use headgate_core::task::media_kind::MediaKind;
use mp4_atom::{Atom, DecodeMaybe, FourCC, Header, Mdhd, Mehd, Mvhd, ReadFrom, Stts, Tkhd, Trex};
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

/// Largest `moov` box that is read: that of a video of hours.
const MOOV_BYTES_MAX: u64 = 16 << 20;
/// Boxes at the top level that are passed on the way to `moov`.
const BOXES_MAX: usize = 10_000;

/// What the movie header and the tracks state.
#[derive(Default)]
struct Movie {
    /// Units of a second in which tracks have their durations.
    timescale: u32,
    /// Of a file in fragments.
    fragment_duration: Option<u64>,
    /// Units of a sample of a fragment that does not say, by track; `None` if the file has no fragments.
    sample_defaults: Option<BTreeMap<u32, u32>>,
    /// Units of all samples in fragments, by track.
    fragment_samples: BTreeMap<u32, u64>,
    tracks: Vec<Track>,
}

#[derive(Default)]
struct Track {
    id: u32,
    track_type: [u8; 4],
    /// In units of the movie.
    duration: u64,
    dimensions: (u32, u32),
    /// Units of a second in which the media has its duration and samples.
    timescale: u32,
    media_duration: u64,
    samples: u64,
    samples_duration: u64,
}

/// The properties; `None` if there is no readable `moov` box.
pub(super) fn read(file: &mut (impl Read + Seek)) -> Option<MediaProperties> {
    let moov = read_moov(file)?;
    let mut movie = Movie::default();
    for (kind, body) in boxes(&moov) {
        match &kind {
            b"mvhd" => movie.timescale = decode::<Mvhd>(body)?.timescale,
            b"trak" => movie.tracks.extend(Track::read(body)),
            b"mvex" => {
                let mut inner = boxes(body).filter(|(kind, _)| kind == b"mehd");
                let header = inner.next().and_then(|(_, body)| decode::<Mehd>(body));
                movie.fragment_duration = header.map(|header| header.fragment_duration);
                let defaults = boxes(body).filter(|(kind, _)| kind == b"trex");
                let defaults = defaults.filter_map(|(_, body)| decode::<Trex>(body));
                let defaults = defaults.map(|one| (one.track_id, one.default_sample_duration));
                movie.sample_defaults = Some(defaults.collect());
            }
            _ => {}
        }
    }
    if let (None, Some(defaults)) = (movie.fragment_duration, &movie.sample_defaults) {
        movie.fragment_samples = fragments::sample_durations(file, defaults).unwrap_or_default();
    }
    Some(movie.properties())
}

/// The content of the first `moov` box.
fn read_moov(file: &mut (impl Read + Seek)) -> Option<Vec<u8>> {
    let end = file.seek(SeekFrom::End(0)).ok()?;
    let mut at = 0;
    for _ in 0..BOXES_MAX {
        file.seek(SeekFrom::Start(at)).ok()?;
        let header = <Option<Header> as ReadFrom>::read_from(file).ok()??;
        let start = file.stream_position().ok()?;
        let rest = end.checked_sub(start)?;
        let size = header.size.map_or(rest, |size| size as u64);
        if header.kind == FourCC::new(b"moov") {
            if size > rest.min(MOOV_BYTES_MAX) {
                return None;
            }
            let mut body = Vec::new();
            file.take(size).read_to_end(&mut body).ok()?;
            return Some(body);
        }
        at = start.checked_add(size).filter(|next| *next < end)?;
    }
    None
}

impl Movie {
    fn properties(&self) -> MediaProperties {
        let of = |track_type: &[u8; 4]| {
            let tracks = self.tracks.iter();
            let track_type = *track_type;
            tracks.filter(move |track| track.track_type == track_type)
        };
        let (video, audio) = (of(b"vide").next(), of(b"soun").next());
        let (kind, track_type) = match (video, audio) {
            (Some(_), _) => (MediaKind::Video, b"vide"),
            (None, Some(_)) => (MediaKind::Audio, b"soun"),
            (None, None) => return MediaProperties::default(),
        };
        let durations = of(track_type).filter_map(|track| self.track_duration(track));
        let dimensions = video.map(|track| track.dimensions);
        MediaProperties {
            kind: Some(kind),
            duration: durations.max(),
            frame_rate: video.and_then(Track::frame_rate),
            dimensions: dimensions.filter(|(width, height)| *width > 0 && *height > 0),
        }
    }

    /// As it is played, with its edits; else as it is stored, else that of all fragments or of their samples.
    fn track_duration(&self, track: &Track) -> Option<Duration> {
        let played = seconds(track.duration, self.timescale);
        let stored = || seconds(track.media_duration, track.timescale);
        let fragments = || seconds(self.fragment_duration?, self.timescale);
        let samples = || seconds(*self.fragment_samples.get(&track.id)?, track.timescale);
        let known = played.or_else(stored).or_else(fragments);
        known.or_else(samples)
    }
}

impl Track {
    fn read(body: &[u8]) -> Option<Self> {
        let mut track = Self::default();
        for (kind, body) in boxes(body) {
            match &kind {
                b"tkhd" => {
                    let header: Tkhd = decode(body)?;
                    track.id = header.track_id;
                    track.duration = header.duration;
                    let (width, height) = (header.width.integer(), header.height.integer());
                    track.dimensions = (width.into(), height.into());
                }
                b"mdia" => track.read_media(body)?,
                _ => {}
            }
        }
        Some(track)
    }

    fn read_media(&mut self, body: &[u8]) -> Option<()> {
        for (kind, body) in boxes(body) {
            match &kind {
                b"mdhd" => {
                    let header: Mdhd = decode(body)?;
                    (self.timescale, self.media_duration) = (header.timescale, header.duration);
                }
                // Behind version, flags and a reserved word. QuickTime and MP4 write what follows differently.
                b"hdlr" => self.track_type = *body.get(8..12)?.first_chunk()?,
                b"minf" => {
                    let tables = boxes(body).filter(|(kind, _)| kind == b"stbl");
                    for (_, body) in tables {
                        self.read_samples(body);
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn read_samples(&mut self, body: &[u8]) {
        for (_, body) in boxes(body).filter(|(kind, _)| kind == b"stts") {
            for entry in decode::<Stts>(body).iter().flat_map(|table| &table.entries) {
                let (count, duration) = (entry.sample_count.into(), entry.sample_delta.into());
                self.samples = self.samples.saturating_add(count);
                let all = u64::saturating_mul(count, duration);
                self.samples_duration = self.samples_duration.saturating_add(all);
            }
        }
    }

    fn frame_rate(&self) -> Option<f64> {
        let duration = seconds(self.samples_duration, self.timescale)?;
        // A single frame has no rate.
        (self.samples > 1).then(|| self.samples as f64 / duration.as_secs_f64())
    }
}

/// The boxes in the body of one, with their kinds; ends at the first whose size is wrong.
fn boxes(mut body: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let header = Header::decode_maybe(&mut body).ok()??;
        let size = header.size.unwrap_or(body.len());
        let (inner, rest) = body.split_at_checked(size)?;
        body = rest;
        Some((header.kind.into(), inner))
    })
}

fn decode<T: Atom>(mut body: &[u8]) -> Option<T> {
    T::decode_body(&mut body).ok()
}

/// `None` for nothing, and for what is written where the duration is unknown.
fn seconds(units: u64, timescale: u32) -> Option<Duration> {
    let is_known = units > 0 && units != u64::from(u32::MAX) && units != u64::MAX;
    let seconds = units as f64 / f64::from(timescale);
    let duration = Duration::try_from_secs_f64(seconds).ok();
    duration.filter(|duration| is_known && timescale > 0 && !duration.is_zero())
}
