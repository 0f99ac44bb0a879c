//! Where a declared protocol reports usage.

use super::build::DescriptorBuilder;
use super::config::UsageConfig;
use super::leaked::{leaked, leaked_list, leaked_path, leaked_text};
use crate::usage::{UsageCount, UsageObjectPlace, UsageShape};
use memchr::memmem::Finder;

/// Usage of a declaration that is right.
pub(super) struct DeclaredUsage {
    /// The members that lead to the object with the counts.
    pub object: Vec<String>,
    /// The members within that object, one or two for each count.
    pub counts: Vec<(Vec<String>, UsageCount)>,
    /// The members of a body that lead to the seconds of its audio, or none.
    pub duration: Vec<String>,
    pub input_excludes_cache: bool,
}

impl DeclaredUsage {
    pub fn leaked(self, is_optional_in_streams: bool) -> UsageShape {
        let path = leaked_path(&self.object);
        let key = format!("\"{}\"", path.last().copied().unwrap_or_default());
        let counts = self.counts.iter().map(|(steps, count)| {
            let (object, name) = match &**steps {
                [object, name] => (leaked_text(object), leaked_text(name)),
                steps => ("", leaked_text(steps.last().map_or("", |name| name))),
            };
            (object, name, *count)
        });
        UsageShape {
            own_place: Some(leaked(UsageObjectPlace {
                path,
                key: Finder::new(key.as_bytes()).into_owned(),
                duration: leaked_path(&self.duration),
            })),
            in_event: path,
            in_first_event: None,
            counts: leaked_list(counts),
            input_excludes_cache: self.input_excludes_cache,
            is_optional_in_streams,
        }
    }
}

impl DescriptorBuilder<'_> {
    /// What the declaration says of usage; `None` if it is wrong.
    pub(super) fn usage(&mut self, config: &UsageConfig) -> Option<DeclaredUsage> {
        let object = self.pointer("/usage/at", &config.at, usize::MAX)?;
        let mut counts = Vec::new();
        for (key, pointer, count) in [
            ("input", &config.input, UsageCount::Input),
            (
                "cached_input",
                &config.cached_input,
                UsageCount::CachedInput,
            ),
            ("cache_write", &config.cache_write, UsageCount::CacheWrite),
            ("output", &config.output, UsageCount::Output),
            ("reasoning", &config.reasoning, UsageCount::Reasoning),
            ("total", &config.total, UsageCount::Total),
            ("seconds", &config.seconds, UsageCount::AudioSeconds),
        ] {
            if let Some(pointer) = pointer {
                let steps = self.pointer(&format!("/usage/{key}"), pointer, 2)?;
                counts.push((steps, count));
            }
        }
        let duration = match &config.duration {
            Some(pointer) => self.pointer("/usage/duration", pointer, usize::MAX)?,
            None => Vec::new(),
        };
        if counts.is_empty() && duration.is_empty() {
            let reason = "`usage` counts nothing".to_owned();
            self.add(
                "/usage",
                reason,
                "add at least one of input, output, total, seconds and duration",
            );
        }
        Some(DeclaredUsage {
            object,
            counts,
            duration,
            input_excludes_cache: config.input_excludes_cache,
        })
    }
}
