//! The figures as a table in Markdown.

use super::measurement::{AtomicWrite, ChatWrites};
use std::collections::{BTreeMap, HashSet};

/// The size of a cache line in bytes.
const LINE_BYTES: u64 = 64;
/// How many functions the table has at most.
const ROWS_MAX: usize = 60;

/// A table of what the workers wrote.
pub fn table(chats: &[ChatWrites; 2]) -> String {
    let lines = chats.each_ref().map(|chat| {
        let lines = chat.writes.iter().map(line);
        lines.collect::<HashSet<_>>()
    });
    let is_shared = |write: &&AtomicWrite| lines.iter().all(|own| own.contains(&line(write)));
    let mut text = String::from(
        "| worker | instructions | atomic writes per chat | to shared lines | shared lines |\n|---|---|---|---|---|\n",
    );
    for (worker, chat) in chats.iter().enumerate() {
        let shared = chat.writes.iter().filter(is_shared);
        let shared_lines = shared.clone().map(line).collect::<HashSet<_>>().len();
        text.push_str(&format!(
            "| {worker} | {} | {} | {} | {shared_lines} |\n",
            chat.steps,
            chat.writes.len(),
            shared.count(),
        ));
    }
    let mut rows: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for write in chats[0].writes.iter().filter(is_shared) {
        *rows.entry((&write.function, &write.place)).or_default() += 1;
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    text.push_str("\n| writes of worker 0 to shared lines | function | in |\n|---|---|---|\n");
    for ((function, place), count) in rows.into_iter().take(ROWS_MAX) {
        text.push_str(&format!("| {count} | `{function}` | {place} |\n"));
    }
    text
}

fn line(write: &AtomicWrite) -> u64 {
    write.address / LINE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_both_workers_write_are_shared() {
        let chat = |addresses: &[u64]| ChatWrites {
            steps: 1000,
            writes: addresses
                .iter()
                .map(|address| AtomicWrite {
                    address: *address,
                    function: "count".into(),
                    place: "memory".into(),
                })
                .collect(),
        };
        let table = table(&[chat(&[0, 64, 72, 200]), chat(&[127, 128])]);
        assert!(table.contains("| 0 | 1000 | 4 | 2 | 1 |"), "{table}");
        assert!(table.contains("| 1 | 1000 | 2 | 1 | 1 |"), "{table}");
        assert!(table.contains("| 2 | `count` | memory |"), "{table}");
    }
}
