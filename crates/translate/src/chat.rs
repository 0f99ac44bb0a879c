//! The chat protocol.

mod reasoning_details;
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
pub(crate) use request_writer::write_request;
pub(crate) use response_reader::read_response;
pub(crate) use response_writer::write_response;
pub(crate) use stream_reader::ChatStreamReader;
pub(crate) use stream_writer::ChatStreamWriter;
pub(crate) use words::add_hidden_thoughts;
