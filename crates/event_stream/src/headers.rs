//! The headers of a frame: names and typed values.

use crate::invalid_frame::InvalidFrame;

/// A header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader<'a> {
    pub name: &'a str,
    pub value: FrameHeaderValue<'a>,
}

/// The value of a header, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameHeaderValue<'a> {
    Bool(bool),
    Byte(i8),
    Short(i16),
    Integer(i32),
    Long(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    /// Milliseconds since 1970.
    Timestamp(i64),
    Uuid([u8; 16]),
}

/// Reads headers one by one.
pub(crate) struct FrameHeaders<'a> {
    rest: &'a [u8],
}

/// Headers of a frame. Providers send three.
const HEADERS_MAX: usize = 64;

/// # Errors
/// What is wrong with the headers.
pub(crate) fn check_headers(headers: &[u8]) -> Result<(), InvalidFrame> {
    let mut names: Vec<&str> = Vec::new();
    for header in FrameHeaders::new(headers) {
        let name = header?.name;
        if names.contains(&name) {
            return Err(InvalidFrame::Headers("a name comes twice"));
        }
        names.push(name);
        if names.len() > HEADERS_MAX {
            return Err(InvalidFrame::Headers("there are too many"));
        }
    }
    Ok(())
}

impl<'a> FrameHeaders<'a> {
    pub(crate) fn new(headers: &'a [u8]) -> Self {
        Self { rest: headers }
    }

    fn read(&mut self) -> Result<FrameHeader<'a>, InvalidFrame> {
        let [length] = self.take_array()?;
        let name = self.take_text(usize::from(length))?;
        if name.is_empty() {
            return Err(InvalidFrame::Headers("a name is empty"));
        }
        let value = self.read_value()?;
        Ok(FrameHeader { name, value })
    }

    fn read_value(&mut self) -> Result<FrameHeaderValue<'a>, InvalidFrame> {
        let [kind] = self.take_array()?;
        Ok(match kind {
            0 => FrameHeaderValue::Bool(true),
            1 => FrameHeaderValue::Bool(false),
            2 => FrameHeaderValue::Byte(i8::from_be_bytes(self.take_array()?)),
            3 => FrameHeaderValue::Short(i16::from_be_bytes(self.take_array()?)),
            4 => FrameHeaderValue::Integer(i32::from_be_bytes(self.take_array()?)),
            5 => FrameHeaderValue::Long(i64::from_be_bytes(self.take_array()?)),
            6 => {
                let length = self.take_length()?;
                FrameHeaderValue::Bytes(self.take(length)?)
            }
            7 => {
                let length = self.take_length()?;
                FrameHeaderValue::Text(self.take_text(length)?)
            }
            8 => FrameHeaderValue::Timestamp(i64::from_be_bytes(self.take_array()?)),
            9 => FrameHeaderValue::Uuid(self.take_array()?),
            _ => return Err(InvalidFrame::Headers("a value has an unknown type")),
        })
    }

    fn take_length(&mut self) -> Result<usize, InvalidFrame> {
        Ok(usize::from(u16::from_be_bytes(self.take_array()?)))
    }

    fn take_text(&mut self, length: usize) -> Result<&'a str, InvalidFrame> {
        let text = std::str::from_utf8(self.take(length)?);
        text.map_err(|_| InvalidFrame::Headers("a text is not UTF-8"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], InvalidFrame> {
        let taken = self.rest.split_at_checked(length);
        let (taken, rest) = taken.ok_or(InvalidFrame::Headers("the last one is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn take_array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], InvalidFrame> {
        let taken = self.rest.split_first_chunk();
        let (taken, rest) = taken.ok_or(InvalidFrame::Headers("the last one is cut off"))?;
        self.rest = rest;
        Ok(*taken)
    }
}

impl<'a> Iterator for FrameHeaders<'a> {
    type Item = Result<FrameHeader<'a>, InvalidFrame>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let header = self.read();
        if header.is_err() {
            self.rest = &[];
        }
        Some(header)
    }
}
