//! The protocol of Gemini's models, which only providers speak.

mod models;
mod parts;
mod request_writer;
mod response_reader;
mod signatures;
mod stream_reader;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use request_writer::write_request;
pub(crate) use response_reader::read_response;
pub(crate) use stream_reader::GeminiStreamReader;
