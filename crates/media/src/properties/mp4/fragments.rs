//! Durations of files in fragments that do not state that of all of them: the sum of their samples.

use super::{BOXES_MAX, boxes, decode};
use mp4_atom::{FourCC, Header, ReadFrom, Tfhd, Trun, TrunSamples};
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

/// Largest `moof` box that is read.
const MOOF_BYTES_MAX: u64 = 1 << 20;

/// Units of the samples of each track, by its id. `defaults` are durations of a sample, by track.
///
/// `None` if the boxes cannot be read to the end of the file.
pub(super) fn sample_durations(
    file: &mut (impl Read + Seek),
    defaults: &BTreeMap<u32, u32>,
) -> Option<BTreeMap<u32, u64>> {
    let end = file.seek(SeekFrom::End(0)).ok()?;
    let (mut at, mut durations) = (0, BTreeMap::new());
    for _ in 0..BOXES_MAX {
        if at >= end {
            return Some(durations);
        }
        file.seek(SeekFrom::Start(at)).ok()?;
        let header = <Option<Header> as ReadFrom>::read_from(file).ok()??;
        let start = file.stream_position().ok()?;
        let rest = end.checked_sub(start)?;
        let size = header.size.map_or(rest, |size| size as u64).min(rest);
        if header.kind == FourCC::new(b"moof") {
            let mut body = Vec::new();
            let read = size.min(MOOF_BYTES_MAX);
            file.take(read).read_to_end(&mut body).ok()?;
            add_fragment(&body, defaults, &mut durations);
        }
        at = start.checked_add(size)?;
    }
    None
}

fn add_fragment(body: &[u8], defaults: &BTreeMap<u32, u32>, durations: &mut BTreeMap<u32, u64>) {
    for (_, track) in boxes(body).filter(|(kind, _)| kind == b"traf") {
        let header = boxes(track).find(|(kind, _)| kind == b"tfhd");
        let Some(header) = header.and_then(|(_, body)| decode::<Tfhd>(body)) else {
            continue;
        };
        let default = header.default_sample_duration;
        let default = default.or_else(|| defaults.get(&header.track_id).copied());
        let default = u64::from(default.unwrap_or_default());
        let total = durations.entry(header.track_id).or_default();
        for (_, run) in boxes(track).filter(|(kind, _)| kind == b"trun") {
            let units = match decode::<Trun>(run).map(|run| run.samples) {
                Some(TrunSamples::Inherited { count, .. }) => default.saturating_mul(count.into()),
                Some(TrunSamples::Explicit(samples)) => samples
                    .iter()
                    .map(|sample| sample.duration.map_or(default, u64::from))
                    .fold(0, u64::saturating_add),
                None => 0,
            };
            *total = total.saturating_add(units);
        }
    }
}
