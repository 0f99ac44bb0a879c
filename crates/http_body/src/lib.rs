//! Codings and chunks of HTTP bodies, without I/O.

pub mod chunk_grammar;
pub mod content_decoder;
