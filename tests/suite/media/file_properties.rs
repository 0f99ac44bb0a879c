//! Tests of what is read of files: their properties, and that nothing in them does harm.

use crate::harness::media_files::{mp3, mp4, png, video, wav};
use headgate_core::task::media_kind::MediaKind;
use headgate_media::MediaProperties;
use std::io::{Cursor, Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::time::{Duration, Instant};

fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut file = b"GIF89a".to_vec();
    file.extend(width.to_le_bytes());
    file.extend(height.to_le_bytes());
    file.extend([0; 6]);
    file
}

fn bmp(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"BM".to_vec();
    file.extend([0; 12]);
    file.extend(40_u32.to_le_bytes());
    file.extend(width.to_le_bytes());
    file.extend(height.to_le_bytes());
    file.extend([0; 30]);
    file
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut file =
        b"\xFF\xD8\xFF\xE0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xFF\xC0\x00\x11\x08".to_vec();
    file.extend(height.to_be_bytes());
    file.extend(width.to_be_bytes());
    file.extend([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
    file
}

fn webp(width: u16, height: u16) -> Vec<u8> {
    let mut file = b"RIFF\x30\0\0\0WEBPVP8 \x20\0\0\0\x30\x01\x00\x9D\x01\x2A".to_vec();
    file.extend(width.to_le_bytes());
    file.extend(height.to_le_bytes());
    file.extend([0; 20]);
    file
}

fn tiff(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"II\x2A\0\x08\0\0\0\x02\0".to_vec();
    for (tag, value) in [(0x100_u16, width), (0x101, height)] {
        file.extend(tag.to_le_bytes());
        file.extend(4_u16.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file
}

/// A BigTIFF, which has offsets of 64 bits.
fn big_tiff(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"II\x2B\0\x08\0\0\0".to_vec();
    file.extend(16_u64.to_le_bytes());
    file.extend(2_u64.to_le_bytes());
    for (tag, value) in [(0x100_u16, width), (0x101, height)] {
        file.extend(tag.to_le_bytes());
        file.extend(4_u16.to_le_bytes());
        file.extend(1_u64.to_le_bytes());
        file.extend(u64::from(value).to_le_bytes());
    }
    file.extend([0; 8]);
    file
}

fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut whole = (8 + content.len() as u32).to_be_bytes().to_vec();
    whole.extend(kind);
    whole.extend(content);
    whole
}

/// The start of a video, and its `moov` box, which is the last one.
fn parts_of(file: &[u8]) -> (&[u8], &[u8]) {
    let at = file.windows(4).position(|kind| kind == b"moov").unwrap() - 4;
    file.split_at(at)
}

/// A video whose content follows its `moov` box.
fn moov_first() -> Vec<u8> {
    let file = video(12.5, 24.0);
    let (start, movie) = parts_of(&file);
    let (file_type, content) = start.split_at(24);
    [file_type, movie, content].concat()
}

/// A video in fragments, which states the duration of all of them.
fn fragmented() -> Vec<u8> {
    let file = video(12.5, 24.0);
    let (start, movie) = parts_of(&file);
    let header = boxed(b"mehd", &[[0; 4], 12_500_u32.to_be_bytes()].concat());
    let track = [1_u32, 1, 0, 0, 0].map(u32::to_be_bytes).concat();
    let track = boxed(b"trex", &[&[0; 4][..], &track].concat());
    let extends = boxed(b"mvex", &[header, track].concat());
    let movie = boxed(b"moov", &[&movie[8..], &extends].concat());
    let fragment = boxed(b"mfhd", &[0, 0, 0, 0, 0, 0, 0, 1]);
    let fragment = boxed(b"moof", &fragment);
    let content = boxed(b"mdat", &[7; 1000]);
    [start, &movie, &fragment, &content].concat()
}

/// An ID3v2 tag of `size` bytes after its header.
fn id3(size: u32) -> Vec<u8> {
    let mut tag = b"ID3\x04\0\0".to_vec();
    tag.extend([21, 14, 7, 0].map(|shift| (size >> shift & 0x7F) as u8));
    tag.extend(b"TIT2\0\0\0\x05\0\0\0gate");
    tag.resize(10 + size as usize, 0);
    tag
}

/// An APE tag without items, with its header.
fn ape() -> Vec<u8> {
    let part = |flags: u32| {
        let mut part = b"APETAGEX".to_vec();
        part.extend([2000_u32, 32, 0, flags].map(u32::to_le_bytes).concat());
        part.extend([0; 8]);
        part
    };
    [part(0xA000_0000), part(0x8000_0000)].concat()
}

/// Sound whose first frame is a Xing header, with counts of frames and bytes.
fn xing() -> Vec<u8> {
    let mut file = mp3(2);
    // Behind the frame's header and the side information of two channels.
    let header = [
        &b"Xing\0\0\0\x03"[..],
        &77_u32.to_be_bytes(),
        &32_000_u32.to_be_bytes(),
    ];
    let header = header.concat();
    file[36..36 + header.len()].copy_from_slice(&header);
    file
}

fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("video/mp4", video(12.5, 24.0)),
        ("video/quicktime", video(2.0, 29.97)),
        ("audio/mp4", mp4(b"soun", 9.0, 50.0, (0, 0))),
        ("audio/x-wav", wav(1)),
        ("audio/mpeg", mp3(2)),
        ("image/png", png(640, 360)),
        ("image/gif", gif(640, 360)),
        ("image/bmp", bmp(640, 360)),
        ("image/jpeg", jpeg(640, 360)),
        ("image/webp", webp(640, 360)),
        ("image/tiff", tiff(640, 360)),
        ("image/tiff", big_tiff(640, 360)),
        ("video/mp4", moov_first()),
        ("video/mp4", fragmented()),
        ("audio/mpeg", [id3(300), mp3(2)].concat()),
        ("audio/mpeg", [mp3(2), ape()].concat()),
        ("audio/mpeg", xing()),
    ]
}

#[test]
fn containers_state_duration_frame_rate_and_dimensions() {
    for (content_type, content) in samples() {
        let found = MediaProperties::read(content_type, &mut Cursor::new(content));
        let seconds = found.duration.map(|duration| duration.as_secs_f64());
        let rate = found.frame_rate.map(|rate| (rate * 100.0).round());
        let (kind, duration, rate_expected, dimensions) = match content_type {
            "video/mp4" => (MediaKind::Video, Some(12.5), Some(2400.0), Some((640, 360))),
            "video/quicktime" => (MediaKind::Video, Some(2.0), Some(2997.0), Some((640, 360))),
            "audio/mp4" => (MediaKind::Audio, Some(9.0), None, None),
            "audio/x-wav" => (MediaKind::Audio, Some(1.0), None, None),
            "audio/mpeg" => (MediaKind::Audio, Some(2.0), None, None),
            _ => (MediaKind::Image, None, None, Some((640, 360))),
        };
        assert_eq!(found.kind, Some(kind), "{content_type}");
        assert_eq!(found.dimensions, dimensions, "{content_type}");
        assert_eq!(rate, rate_expected, "{content_type}");
        match (seconds, duration) {
            (Some(seconds), Some(expected)) => {
                assert!(
                    (seconds - expected).abs() < 0.1,
                    "{content_type}: {seconds}"
                );
            }
            (seconds, expected) => assert_eq!(seconds, expected, "{content_type}"),
        }
    }
}

#[test]
fn what_cannot_be_read_has_no_properties() {
    for content in [&b""[..], b"\0", &[0xFF; 1000], &video(4.0, 24.0)[..120]] {
        for (content_type, _) in samples() {
            let found = MediaProperties::read(content_type, &mut Cursor::new(content));
            assert_eq!(found.duration, None, "{content_type}");
            assert_eq!(found.frame_rate, None, "{content_type}");
            assert_eq!(found.dimensions, None, "{content_type}");
        }
    }
}

/// A file that counts what is asked of it, and refuses after a while as the reader of data URIs does.
struct CountedFile {
    content: Cursor<Vec<u8>>,
    operations: u64,
}

impl CountedFile {
    fn count(&mut self) -> Result<()> {
        self.operations += 1;
        match self.operations > 1 << 20 {
            true => Err(Error::from(ErrorKind::QuotaExceeded)),
            false => Ok(()),
        }
    }
}

impl Read for CountedFile {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.count()?;
        self.content.read(into)
    }
}

impl Seek for CountedFile {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.count()?;
        self.content.seek(to)
    }
}

/// The same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Changes some bytes, most of them to values that break counts and sizes; may cut, repeat or drop a part.
fn mutate(content: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(content.len());
        match random.below(8) {
            0 => content.truncate(at),
            1 => drop(content.drain(at..(at + random.below(40)).min(content.len()))),
            2 => {
                let part = content[at..(at + random.below(200)).min(content.len())].to_vec();
                content.splice(at..at, part);
            }
            3 => content[at..]
                .iter_mut()
                .take(4)
                .for_each(|byte| *byte = 0xFF),
            4 => content[at..].iter_mut().take(8).for_each(|byte| *byte = 0),
            _ => {
                if let Some(byte) = content.get_mut(at) {
                    *byte = [0, 1, 0x7F, 0x80, 0xFF, random.below(256) as u8][random.below(6)];
                }
            }
        }
        if content.is_empty() {
            content.push(0);
        }
    }
}

#[test]
fn files_that_were_tampered_with_are_read_without_a_panic_and_with_bounded_work() {
    const MUTATIONS: usize = 3000;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut most, mut longest) = (0, Duration::ZERO);
    let samples = samples();
    for (content_type, sample) in &samples {
        for _ in 0..MUTATIONS {
            let mut content = sample.clone();
            mutate(&mut content, &mut random);
            let content = Cursor::new(content);
            let mut file = CountedFile {
                content,
                operations: 0,
            };
            let started = Instant::now();
            MediaProperties::read(content_type, &mut file);
            longest = longest.max(started.elapsed());
            most = most.max(file.operations);
        }
    }
    println!(
        "{} files read, at most {most} operations and {} ms for one",
        samples.len() * MUTATIONS,
        longest.as_millis()
    );
    assert!(longest < Duration::from_secs(5));
}
