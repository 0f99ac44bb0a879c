//! The messages protocol.

mod request_reader;
mod request_writer;
mod response_reader;
mod response_writer;
mod stream_reader;
mod stream_writer;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use request_reader::read_request;
pub(crate) use request_writer::{named_effort, write_request, write_thinking};
pub(crate) use response_reader::read_response;
pub(crate) use response_writer::write_response;
pub(crate) use stream_reader::MessagesStreamReader;
pub(crate) use stream_writer::MessagesStreamWriter;
