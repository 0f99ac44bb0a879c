//! Tests of the filter `plugin`, on the real listener.

mod author;
mod failures;
mod lifecycle;
mod messages;
mod reloads;
