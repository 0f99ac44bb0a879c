//! Percent-decoding, and the parameters of a URL's query.

use std::borrow::Cow;

/// The values of the parameter `name`, in order.
pub fn values<'q>(query: &'q str, name: &str) -> impl Iterator<Item = Cow<'q, str>> {
    let pairs = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs
        .filter(move |(key, _)| percent_decoded(key) == name)
        .map(|(_, value)| percent_decoded(value))
}

/// The parameter `name` as a number, if it is one.
pub fn number(query: &str, name: &str) -> Option<usize> {
    values(query, name).next()?.parse().ok()
}

/// Percent-decodes `text`; an invalid escape is left as it is.
pub fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_may_repeat_and_be_encoded() {
        let query = "page=2&filter.ids=a%2Fb&filter%2Eids=c&flag";
        assert_eq!(
            values(query, "filter.ids").collect::<Vec<_>>(),
            ["a/b", "c"]
        );
        assert_eq!(values(query, "flag").collect::<Vec<_>>(), [""]);
        assert_eq!(
            (number(query, "page"), number(query, "flag")),
            (Some(2), None)
        );
    }
}
