//! Video tasks in the shapes of families A and B: made, queued, run, ended, and asked after.

mod clip;
mod course;
mod directives;
mod family_a;
mod family_b;
mod paths;
mod task;
mod tasks;

pub use directives::TaskDirectives;
pub use paths::{Deed, Family};
pub use tasks::Tasks;

use super::refusal::Refusal;
use crate::call::Call;
use crate::outcome::Outcome;
use serde_json::Value;

/// Does what is asked for with the tasks of the caller's account; `body` is read for creates only.
///
/// # Errors
/// What the family refuses, in its own words.
pub fn answer(
    family: Family,
    deed: Deed,
    body: impl FnOnce() -> Result<Value, Refusal>,
    call: &Call,
) -> Result<Outcome, Refusal> {
    match (family, deed) {
        (Family::A, Deed::Create) => family_a::create(&body()?, call),
        (Family::A, Deed::List) => Ok(family_a::list(call)),
        (Family::A, Deed::Query(id)) => family_a::query(id, call),
        (Family::A, Deed::Cancel(id)) => family_a::delete(id, call),
        (Family::B, Deed::Create) => family_b::create(&body()?, call),
        (Family::B, Deed::List) => Ok(family_b::list(call)),
        (Family::B, Deed::Query(id)) => Ok(family_b::query(id, call)),
        (Family::B, Deed::Cancel(id)) => family_b::cancel(id, call),
    }
}
