//! The filters of this feature.

pub mod authenticate;
