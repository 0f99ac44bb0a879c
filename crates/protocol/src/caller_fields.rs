//! The caller's names of fields, for errors about a body that a filter made of the caller's.

use crate::fault::Fault;
use std::borrow::Cow;

/// How callers of one format name the fields of another, which the gateway reads in its place.
#[derive(Debug)]
pub struct CallerFieldNames {
    /// Fields of the format that is read, each with the caller's name. What lies below a field has the field's name.
    pub fields: &'static [(&'static str, &'static str)],
    /// Parts of messages that are about the format that is read, each with what callers read instead. The first that
    /// occurs comes first.
    pub phrases: &'static [(&'static str, &'static str)],
}

impl CallerFieldNames {
    /// The caller's name of a field, such as `medias[0].url`.
    pub fn name<'n>(&self, field: &'n str) -> &'n str {
        let is_within = |outer: &str| {
            let rest = field.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let mut fields = self.fields.iter();
        let own = fields.find(|(read, _)| is_within(read));
        own.map_or(field, |(_, own)| own)
    }

    /// The fault with the caller's names in place of those that were read.
    pub fn rename(&self, mut fault: Fault) -> Fault {
        if let Some(param) = &mut fault.param {
            *param = self.name(param).to_owned();
        }
        if fault.message.contains('`') || fault.param.is_some() {
            fault.message = self.rename_in(&fault.message);
        }
        fault
    }

    /// The message with the caller's names of the fields that it quotes.
    fn rename_in(&self, message: &str) -> String {
        let mut text = Cow::Borrowed(message);
        for (read, own) in self.phrases {
            if text.contains(read) {
                text = Cow::Owned(text.replace(read, own));
            }
        }
        let mut renamed = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some((before, quoted)) = rest.split_once('`') {
            let Some((name, after)) = quoted.split_once('`') else {
                break;
            };
            renamed.push_str(before);
            renamed.push('`');
            // The caller named the model.
            let is_model = before.ends_with("model ");
            renamed.push_str(if is_model { name } else { self.name(name) });
            renamed.push('`');
            rest = after;
        }
        renamed.push_str(rest);
        renamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;

    const NAMES: CallerFieldNames = CallerFieldNames {
        fields: &[("medias", "input_reference"), ("duration", "seconds")],
        phrases: &[
            (", or -1 to let the model choose", ""),
            ("`ratio`", "the ratio of `size`"),
        ],
    };

    #[test]
    fn a_fault_names_fields_as_the_caller_does() {
        for (param, message, expected) in [
            (
                "duration",
                "`duration` must be 5, or -1 to let the model choose",
                ("seconds", "`seconds` must be 5"),
            ),
            (
                "medias[0].url",
                "`medias[0].url` of `duration` is no image; `prompt`",
                (
                    "input_reference",
                    "`input_reference` of `seconds` is no image; `prompt`",
                ),
            ),
            (
                "mediasize",
                "`ratio` of model `duration`, a ` alone",
                (
                    "mediasize",
                    "the ratio of `size` of model `duration`, a ` alone",
                ),
            ),
            ("prompt", "the duration", ("prompt", "the duration")),
        ] {
            let fault = Fault::new(FaultKind::Invalid, message).param(param);
            let renamed = NAMES.rename(fault);
            let renamed = (renamed.param.as_deref(), &*renamed.message);
            assert_eq!(renamed, (Some(expected.0), expected.1));
        }
    }
}
