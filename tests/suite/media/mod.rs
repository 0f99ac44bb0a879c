//! Tests of the media store: data URIs that become URLs, and the URLs themselves.

mod data_uris;
mod serving;
