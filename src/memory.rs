//! The memory of the process: its allocator, and what goes back to the system when the process no longer uses it.

pub mod allocator;
mod resident;
pub mod trim;
