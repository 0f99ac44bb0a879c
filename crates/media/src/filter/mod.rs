//! The filters of this feature.

pub mod copy_files;
pub mod map_images;
pub mod serve_media;
pub mod store_media;
