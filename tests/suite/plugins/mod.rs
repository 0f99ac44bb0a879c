//! Tests of the filter `plugin`, on the real listener.

mod author;
mod cases;
mod exposure;
mod failures;
mod foreign;
mod lifecycle;
mod messages;
mod reloads;
