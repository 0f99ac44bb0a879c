//! The responses protocol.

mod outcome;
mod output_item;
mod request_reader;
mod request_writer;
mod response_object;
mod response_reader;
mod response_writer;
mod stream_reader;
mod stream_writer;
#[cfg(test)]
pub(crate) mod tests;
mod thoughts;

pub(crate) use request_reader::read_request;
pub(crate) use request_writer::write_request;
pub(crate) use response_object::repeated_members;
pub(crate) use response_reader::read_response;
pub(crate) use response_writer::write_response;
pub(crate) use stream_reader::ResponsesStreamReader;
pub(crate) use stream_writer::ResponsesStreamWriter;
