//! Marks at the end of prefixes that are cached, as the chat and responses protocols write them.

use crate::context::ChannelSettings;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::CacheMark;

/// Writes a mark as a member of the part that it belongs to, if the model takes it.
pub(crate) fn write_breakpoint(
    mark: &CacheMark<'_>,
    channel: &ChannelSettings,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    if !channel.features.cache_breakpoints {
        let reason = "is left out, since the channel's model is not known to take it";
        ledger.add(mark.at, FieldOutcome::Dropped, reason);
        return;
    }
    json.key("prompt_cache_breakpoint").begin_object();
    json.key("mode").literal("explicit");
    match &mark.ttl {
        Some(ttl) if matches!(ttl.as_written(), "30m" | "12h") => {
            json.key("ttl").text(ttl);
        }
        Some(_) => {
            let reason = "becomes the default lifetime of the channel's protocol";
            ledger.add(mark.at, FieldOutcome::Approximated, reason);
        }
        None => {}
    }
    json.end_object();
}
