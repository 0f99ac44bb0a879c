//! Tests of the media store: data URIs and images that become URLs, and the URLs themselves.

mod data_uris;
mod image_urls;
mod serving;
