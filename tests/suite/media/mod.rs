//! Tests of the media store: data URIs and images that become URLs, the URLs themselves, and copies of files.

mod bypasses;
mod data_uris;
mod durations;
mod file_copies;
mod file_properties;
mod fleet;
mod full_disk;
mod hostile_urls;
mod http2;
mod image_urls;
mod kills;
mod kinds;
mod large_files;
mod limits;
mod quotas;
mod s3;
mod serving;
