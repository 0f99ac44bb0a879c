//! State that requests share. Embedded, in memory.

pub mod affinity;
