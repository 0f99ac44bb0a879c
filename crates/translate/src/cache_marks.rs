//! Marks at the end of prefixes that are cached, as providers of the chat and responses protocols have them.

use crate::dialect::CacheMarkForm;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::CacheMark;

/// Writes a mark as a member of the part that it belongs to, if the model takes it.
pub(crate) fn write_cache_mark(
    mark: &CacheMark<'_>,
    form: CacheMarkForm,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let lifetimes = match form {
        CacheMarkForm::None => {
            let reason = "is left out, since the channel's model is not known to take it";
            ledger.add(mark.at, FieldOutcome::Dropped, reason);
            return;
        }
        CacheMarkForm::Breakpoint => {
            json.key("prompt_cache_breakpoint").begin_object();
            json.key("mode").literal("explicit");
            ["30m", "12h"]
        }
        CacheMarkForm::CacheControl => {
            json.key("cache_control").begin_object();
            json.key("type").literal("ephemeral");
            ["5m", "1h"]
        }
    };
    match &mark.ttl {
        Some(ttl) if lifetimes.contains(&ttl.as_written()) => {
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
