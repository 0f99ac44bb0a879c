//! The contract of the gateway: what a filter and a feature are, what they see, and what they share.
//!
//! Filters and features know this crate, the protocols and expressions, and nothing of each other.

pub mod callout;
pub mod catalog;
pub mod credentials;
pub mod feature;
pub mod feature_values;
pub mod filter;
pub mod finding;
pub mod large_bodies;
pub mod outgoing;
pub mod page_value;
pub mod pointer;
pub mod random;
pub mod regular_file;
pub mod request_id;
pub mod serve;
pub mod state;
pub mod subrequest;
pub mod thinking_sealer;
pub mod thread_shards;
pub mod timestamp;

pub use headgate_scalar as scalar;
pub use headgate_task as task;
