//! Records that are written together.

use crate::record::PromptRecord;
use flate2::Compression;
use flate2::write::GzEncoder;
use headgate_core::timestamp::rfc3339_seconds;
use object_store::path::Path;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Records that are written together, under one name however often they are written.
pub(crate) struct PromptBatch {
    pub records: Vec<PromptRecord>,
    /// The name of the gateway.
    pub gateway: Arc<str>,
    /// The object that they become in a bucket.
    pub path: Path,
}

/// Why a batch was not written.
#[derive(Debug)]
pub(crate) struct RefusedBatch {
    pub reason: String,
    /// Whether the same batch will be refused again.
    pub is_final: bool,
    pub retry_after: Option<Duration>,
}

impl RefusedBatch {
    /// It may be written later.
    pub fn for_now(reason: String) -> Self {
        Self {
            reason,
            is_final: false,
            retry_after: None,
        }
    }
}

impl PromptBatch {
    /// `process` is a text that no other process of the gateway has, `number` is that of the batch in the process.
    pub fn new(
        records: Vec<PromptRecord>,
        gateway: Arc<str>,
        process: &str,
        number: u64,
        now: SystemTime,
    ) -> Self {
        let time = rfc3339_seconds(now);
        // Such as `2026-11-28T09:30:00Z`.
        let (date, hour) = (&time[..10], &time[11..13]);
        let name = format!("{gateway}-{process}-{number:06}.jsonl.gz");
        let path = [date, hour, &name].into_iter().collect();
        Self {
            records,
            gateway,
            path,
        }
    }

    /// One line of JSON for each record, compressed by gzip.
    pub fn compressed_lines(&self) -> Vec<u8> {
        let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
        let mut line = Vec::new();
        for record in &self.records {
            line.clear();
            record.append_json(&self.gateway, &mut line);
            line.push(b'\n');
            compressed
                .write_all(&line)
                .expect("memory takes what is written");
        }
        compressed.finish().expect("memory takes what is written")
    }
}
