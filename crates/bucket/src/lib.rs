//! Buckets of S3-compatible servers: their settings, and access with the client of the process.

mod client_slot;
mod config;
mod connector;
mod settings;
mod signing;

pub use client_slot::BucketClientSlot;
pub use config::BucketConfig;
pub use settings::BucketSettings;
