//! Names of channels and variables, made of names of other gateways.

use headgate_core::scalar::model_pattern::ModelPattern;
use std::collections::{BTreeSet, HashMap};

/// Longest name that is made, in characters.
const NAME_MAX: usize = 48;

/// The names that a file has so far.
#[derive(Default)]
pub struct TakenNames {
    names: BTreeSet<String>,
    /// For each stem, the number that its next name may have.
    counts: HashMap<String, usize>,
}

impl TakenNames {
    /// The names that are taken from the start.
    pub fn new(names: BTreeSet<String>) -> Self {
        Self {
            names,
            counts: HashMap::new(),
        }
    }

    /// A name of lower-case letters, digits and hyphens that no other channel has.
    pub fn channel(&mut self, wish: &str) -> String {
        let stem = match slug(wish) {
            empty if empty.is_empty() => "channel".to_owned(),
            slug => slug,
        };
        self.numbered(&stem, '-')
    }

    /// A name of its own: the stem, or the stem with a number from 2 on.
    pub fn numbered(&mut self, stem: &str, separator: char) -> String {
        let count = self.counts.entry(stem.to_owned()).or_insert(2);
        let mut name = stem.to_owned();
        while !self.names.insert(name.clone()) {
            name = format!("{stem}{separator}{count}");
            *count += 1;
        }
        name
    }
}

/// The variable of a channel, such as `FIRST_API_KEY`.
pub fn variable(channel: &str, suffix: &str) -> String {
    let name = channel.to_ascii_uppercase().replace('-', "_");
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("CHANNEL_{name}_{suffix}"),
        false => format!("{name}_{suffix}"),
    }
}

/// Whether `${…}` can refer to this variable.
pub fn is_variable(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A reference to a variable, as routes.yaml has it.
pub fn reference(variable: &str) -> String {
    format!("${{{variable}}}")
}

/// A text as a value of routes.yaml, where `$` begins a variable.
pub fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

/// Whether a model of another gateway can be one here.
pub fn is_model_name(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= 256 && !name.chars().any(char::is_control)
}

/// Whether it is one, and no pattern.
pub fn is_literal_model_name(name: &str) -> bool {
    is_model_name(name) && !name.contains('*')
}

/// Whether `name`, a model or a pattern, is or matches `model`.
pub fn is_matched(name: &str, model: &str) -> bool {
    name == model || ModelPattern::new(name).matches(model)
}

/// Lower-case letters, digits and single hyphens.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if slug.len() >= NAME_MAX {
            break;
        }
        match c.is_ascii_alphanumeric() {
            true => slug.push(c.to_ascii_lowercase()),
            false if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            false => {}
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{TakenNames, is_variable, variable};

    #[test]
    fn a_channel_has_a_name_of_its_own_and_a_variable() {
        let mut taken = TakenNames::default();
        for (wish, name, key) in [
            ("OpenAI", "openai", "OPENAI_API_KEY"),
            ("openai", "openai-2", "OPENAI_2_API_KEY"),
            ("My \"key\"\n#1 ", "my-key-1", "MY_KEY_1_API_KEY"),
            ("360", "360", "CHANNEL_360_API_KEY"),
            ("渠道", "channel", "CHANNEL_API_KEY"),
            ("${X}", "x", "X_API_KEY"),
        ] {
            let made = taken.channel(wish);
            assert_eq!(made, name);
            assert_eq!(variable(&made, "API_KEY"), key);
            assert!(is_variable(key));
        }
    }
}
