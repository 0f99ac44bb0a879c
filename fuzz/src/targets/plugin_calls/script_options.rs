//! What differs between runs of a script beside the script.

/// Words after the script; without any, streams of a plugin that may do everything run it.
#[derive(Clone, Copy, Debug)]
pub struct ScriptOptions {
    /// Whether the plugin may send requests and share data: unless `ungranted`.
    pub is_granted: bool,
    /// Whether the script also runs when the plugin's machine starts: `root`.
    pub runs_in_root: bool,
    /// Whether an idle stream shares the instance: `other`.
    pub has_other_stream: bool,
    /// Whether requests and responses have trailers, and responses an event: `trailers`.
    pub has_trailers: bool,
    /// Whether timers have time to fire: `wait`.
    pub waits: bool,
}

impl ScriptOptions {
    pub fn new(words: &[u8]) -> Self {
        let has = |word: &str| {
            let mut words = words.split(u8::is_ascii_whitespace);
            words.any(|known| known == word.as_bytes())
        };
        Self {
            is_granted: !has("ungranted"),
            runs_in_root: has("root"),
            has_other_stream: has("other"),
            has_trailers: has("trailers"),
            waits: has("wait"),
        }
    }
}
