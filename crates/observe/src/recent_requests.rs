//! The access log lines of the last requests, kept in memory for the dashboard. They contain no bodies and no secrets.

use headgate_core::state::lock::lock;
use headgate_core::thread_shards::ThreadShards;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

/// Number of lines that each thread keeps.
const LINES_MAX: usize = 1000;
/// Buffers that grew beyond this many bytes are not used again.
const REUSED_BYTES_MAX: usize = 4 << 10;

/// The last access log lines, also if the log itself is off.
#[derive(Default)]
pub struct RecentRequests {
    lines: ThreadShards<Mutex<VecDeque<RecentLine>>>,
}

#[derive(Clone)]
struct RecentLine {
    written: Instant,
    text: Vec<u8>,
}

impl RecentRequests {
    /// An empty buffer for the next line, which may be that of the oldest line.
    pub fn buffer(&self) -> Vec<u8> {
        let mut lines = lock(self.lines.own());
        if lines.len() < LINES_MAX {
            return Vec::with_capacity(1 << 10);
        }
        let oldest = lines.pop_front();
        drop(lines);
        let mut buffer = oldest.map_or_else(Vec::new, |line| line.text);
        if buffer.capacity() > REUSED_BYTES_MAX {
            return Vec::with_capacity(1 << 10);
        }
        buffer.clear();
        buffer
    }

    /// Adds a line.
    pub fn push(&self, line: Vec<u8>) {
        let mut lines = lock(self.lines.own());
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(RecentLine {
            written: Instant::now(),
            text: line,
        });
    }

    /// What `read` makes of the lines, the newest first, up to `most`; lines for which it returns `None` are left out.
    pub fn select<T>(&self, most: usize, read: impl Fn(&[u8]) -> Option<T>) -> Vec<T> {
        let mut all = Vec::new();
        for lines in self.lines.iter() {
            // Copied, so that no request waits for the reading.
            all.extend(lock(lines).iter().rev().cloned());
        }
        // Stable: lines of one moment stay in their order.
        all.sort_by_key(|line| Reverse(line.written));
        all.truncate(LINES_MAX);
        let newest_first = all.iter();
        newest_first
            .filter_map(|line| read(&line.text))
            .take(most)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept() {
        let recent = RecentRequests::default();
        for number in 0..LINES_MAX + 5 {
            let mut line = recent.buffer();
            assert!(line.is_empty());
            line.extend_from_slice(number.to_string().as_bytes());
            recent.push(line);
        }
        let all = recent.select(usize::MAX, |line| Some(line.to_vec()));
        assert_eq!(all.len(), LINES_MAX);
        assert_eq!(all[0], (LINES_MAX + 4).to_string().as_bytes());
        assert_eq!(all[LINES_MAX - 1], b"5");
        assert_eq!(
            recent.select(2, |line| line.ends_with(b"7").then(|| line.to_vec())),
            [b"997", b"987"]
        );
    }
}
