//! AAC in ADTS frames (ISO/IEC 13818-7): a file has no header, so that its frames are counted.

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::time::Duration;

/// Sampling rates by their index in a frame header.
const RATES: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
];
/// Samples of a block; a frame has one to four blocks.
const SAMPLES: u64 = 1024;
const HEADER_BYTES: usize = 7;

/// The duration of all frames; `None` if something else stands between them.
pub(super) fn duration(file: &mut (impl Read + Seek)) -> Option<Duration> {
    file.seek(SeekFrom::Start(0)).ok()?;
    let mut file = BufReader::new(file);
    let (mut samples, mut rate) = (0_u64, 0);
    let mut header = [0; HEADER_BYTES];
    loop {
        match file.read_exact(&mut header) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(_) => return None,
        }
        if header[0] != 0xFF || header[1] & 0xF6 != 0xF0 {
            return None;
        }
        rate = *RATES.get(usize::from(header[2] >> 2 & 0x0F))?;
        let high = usize::from(header[3] & 3) << 11;
        let length = high | usize::from(header[4]) << 3 | usize::from(header[5] >> 5);
        let rest = length.checked_sub(HEADER_BYTES)?;
        samples += SAMPLES * u64::from((header[6] & 3) + 1);
        file.seek_relative(rest as i64).ok()?;
    }
    let seconds = samples as f64 / f64::from(rate);
    let duration = Duration::try_from_secs_f64(seconds).ok();
    duration.filter(|duration| !duration.is_zero())
}
