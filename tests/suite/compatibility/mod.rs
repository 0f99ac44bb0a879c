//! Tests of what an earlier version wrote: it keeps working, also while both versions use one store.

mod callbacks;
mod configurations;
mod creates;
mod formats;
mod handover;
mod ids;
mod limits;
mod tasks;
