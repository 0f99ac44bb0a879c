//! Names of what commands create: plugins and families.

/// A name of lower-case letters, digits, `_` and `-`, from a letter on.
///
/// # Errors
/// It has other characters.
pub fn parse_name(text: &str) -> Result<String, String> {
    let is_valid = text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c));
    match is_valid {
        true => Ok(text.to_owned()),
        false => {
            Err("expected lower-case letters, digits, `_` and `-`, from a letter on".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_package_and_a_folder() {
        for (name, is_valid) in [
            ("a-b_2", true),
            ("", false),
            ("2a", false),
            ("a/b", false),
            ("A", false),
        ] {
            assert_eq!(parse_name(name).is_ok(), is_valid, "{name}");
        }
    }
}
