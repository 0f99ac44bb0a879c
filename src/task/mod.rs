//! Video tasks: sealed ids, and how families of providers say what the generic protocol says. No I/O, no server.

pub mod id;
