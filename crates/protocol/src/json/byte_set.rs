//! Sets of bytes as tables.

/// For each byte: whether it is one of `bytes`.
pub(super) const fn byte_set(bytes: &[u8]) -> [bool; 256] {
    let mut set = [false; 256];
    let mut rest = bytes;
    while let [byte, after @ ..] = rest {
        set[*byte as usize] = true;
        rest = after;
    }
    set
}
