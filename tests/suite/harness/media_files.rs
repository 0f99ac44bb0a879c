//! Small media files whose containers state what a test wants: duration, frame rate, dimensions.

/// A box of the ISO base media format.
fn iso_box(kind: &[u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let size = u32::try_from(body.len() + 8).unwrap();
    [&size.to_be_bytes()[..], kind, &body].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// An MP4 with one track: `vide` or `soun`.
pub fn mp4(
    track_type: &[u8; 4],
    seconds: f64,
    frame_rate: f64,
    (width, height): (u32, u32),
) -> Vec<u8> {
    const UNITS: u32 = 90_000;
    let duration = (seconds * f64::from(UNITS)).round() as u32;
    let frame = (f64::from(UNITS) / frame_rate).round() as u32;
    let matrix = words(&[0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000]);
    let movie = iso_box(
        b"mvhd",
        &[
            &words(&[0, 0, 0, UNITS, duration, 0x1_0000, 0x0100_0000, 0, 0]),
            &matrix,
            &words(&[0, 0, 0, 0, 0, 0, 2]),
        ],
    );
    let track = iso_box(
        b"tkhd",
        &[
            &words(&[3, 0, 0, 1, 0, duration, 0, 0, 0, 0x0100_0000]),
            &matrix,
            &words(&[width << 16, height << 16]),
        ],
    );
    let times = iso_box(b"stts", &[&words(&[0, 1, duration / frame, frame])]);
    let media = iso_box(
        b"mdia",
        &[
            &iso_box(b"mdhd", &[&words(&[0, 0, 0, UNITS, duration, 0x55C4_0000])]),
            &iso_box(
                b"hdlr",
                &[&words(&[0, 0]), track_type, &words(&[0, 0, 0]), b"\0"],
            ),
            &iso_box(b"minf", &[&iso_box(b"stbl", &[&times])]),
        ],
    );
    [
        iso_box(b"ftyp", &[b"isom\x00\x00\x02\x00isommp42"]),
        iso_box(b"mdat", &[&[7; 64]]),
        iso_box(b"moov", &[&movie, &iso_box(b"trak", &[&track, &media])]),
    ]
    .concat()
}

/// A video of 640x360 pixels.
pub fn video(seconds: f64, frame_rate: f64) -> Vec<u8> {
    mp4(b"vide", seconds, frame_rate, (640, 360))
}

/// Eight thousand samples of a byte in a second.
pub fn wav(seconds: u32) -> Vec<u8> {
    let samples = seconds * 8000;
    let mut file = b"RIFF".to_vec();
    file.extend((36 + samples).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend(8000_u32.to_le_bytes());
    file.extend(8000_u32.to_le_bytes());
    file.extend(b"\x01\0\x08\0data");
    file.extend(samples.to_le_bytes());
    file.extend(vec![0x80; samples as usize]);
    file
}

/// Frames of MPEG audio at 128 kbit/s.
pub fn mp3(seconds: u32) -> Vec<u8> {
    let mut frame = vec![0; 417];
    frame[..4].copy_from_slice(b"\xFF\xFB\x90\x00");
    frame.repeat((seconds * 44_100 / 1152) as usize)
}

/// A PNG up to its header.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR".to_vec();
    file.extend(words(&[width, height]));
    file.extend(b"\x08\x02\0\0\0\0\0\0\0");
    file
}
