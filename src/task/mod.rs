//! Video tasks: sealed ids, and how families of providers say what the generic protocol says. No I/O, no server.

pub mod definition;
pub mod families;
pub mod family;
pub mod generic;
pub mod id;
pub mod state;
pub mod status;
pub mod time;
