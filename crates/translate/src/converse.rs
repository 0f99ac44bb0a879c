//! The protocol of Amazon Bedrock's Converse and ConverseStream, which only providers have.

mod error_code;
mod model_family;
mod request_writer;
mod response_reader;
mod stream_reader;
#[cfg(test)]
mod tests;
mod words;

pub use error_code::with_error_code;
pub(crate) use request_writer::write_request;
pub(crate) use response_reader::read_response;
pub(crate) use stream_reader::ConverseStreamReader;
