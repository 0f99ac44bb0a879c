//! Frames for tests, with a checksum that is computed bit by bit.

/// A frame as the format has it.
pub(crate) fn framed(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = u32::try_from(16 + headers.len() + payload.len()).expect("a test frame is small");
    let mut frame = total.to_be_bytes().to_vec();
    frame.extend(
        u32::try_from(headers.len())
            .expect("a test frame is small")
            .to_be_bytes(),
    );
    frame.extend(checksum(&frame).to_be_bytes());
    frame.extend_from_slice(headers);
    frame.extend_from_slice(payload);
    frame.extend(checksum(&frame).to_be_bytes());
    frame
}

pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 * (sum & 1));
        }
    }
    !sum
}

pub(crate) fn header(name: &str, kind: u8, value: &[u8]) -> Vec<u8> {
    let mut header = vec![u8::try_from(name.len()).expect("a test name is short")];
    header.extend_from_slice(name.as_bytes());
    header.push(kind);
    if matches!(kind, 6 | 7) {
        header.extend(
            u16::try_from(value.len())
                .expect("a test value is short")
                .to_be_bytes(),
        );
    }
    header.extend_from_slice(value);
    header
}

pub(crate) fn texts(headers: &[(&str, &str)]) -> Vec<u8> {
    let headers = headers.iter();
    headers
        .flat_map(|(name, text)| header(name, 7, text.as_bytes()))
        .collect()
}
