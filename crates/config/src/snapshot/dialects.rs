//! Builds the dialects of channels.

use super::ProblemCollector;
use crate::dialects::{ChannelDialectConfig, STANDARD, shipped};
use crate::hint::did_you_mean;
use headgate_core::pointer::child;
use headgate_protocol::Protocol;
use headgate_protocol::conversation::ProviderFormat;
use headgate_translate::Dialect;
use headgate_translate::dialect::{DialectConfig, InvalidDialect};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Finds the dialects that channels name.
#[derive(Debug)]
pub(crate) struct DialectLookup<'d> {
    declared: &'d BTreeMap<String, DialectConfig>,
    standard: Arc<Dialect>,
}

impl<'d> DialectLookup<'d> {
    /// Checks the declared dialects, too: also those that no channel has.
    pub fn new(
        declared: &'d BTreeMap<String, DialectConfig>,
        problems: &mut ProblemCollector<'_>,
    ) -> Self {
        let lookup = Self {
            declared,
            standard: Arc::default(),
        };
        for (name, config) in declared {
            let built = lookup.whole(config, Some(name)).and_then(|it| it.build());
            report(built, &child("/dialects", name), problems);
        }
        let whole = lookup.named(STANDARD).and_then(|config| {
            let whole = lookup.whole(config, Some(STANDARD));
            whole.and_then(|it| it.build()).ok()
        });
        Self {
            standard: whole.map_or_else(Arc::default, Arc::new),
            ..lookup
        }
    }

    /// The dialect of a channel.
    pub fn for_channel(
        &self,
        config: Option<&ChannelDialectConfig>,
        protocols: &[Protocol],
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) -> Arc<Dialect> {
        let at = format!("{at}/dialect");
        let (whole, shown) = match config {
            None => return self.standard.clone(),
            Some(ChannelDialectConfig::Inline(config)) => {
                (self.whole(config, None), "the dialect".to_owned())
            }
            Some(ChannelDialectConfig::Named(name)) => match self.named(name) {
                None => {
                    let hint = did_you_mean(name, self.names());
                    let reason = format!("there is no dialect `{name}`");
                    problems.error(&at, reason, hint.as_deref());
                    return Arc::default();
                }
                Some(config) => (self.whole(config, Some(name)), format!("`{name}`")),
            },
        };
        if let Ok(whole) = &whole {
            check_protocols(whole, &shown, protocols, &at, problems);
        }
        let built = whole.and_then(|it| it.build());
        // What is wrong with a declared dialect is reported where it is declared.
        match config {
            Some(ChannelDialectConfig::Named(_)) => Arc::new(built.unwrap_or_default()),
            Some(ChannelDialectConfig::Inline(_)) | None => {
                Arc::new(report(built, &at, problems).unwrap_or_default())
            }
        }
    }

    fn named(&self, name: &str) -> Option<&DialectConfig> {
        self.declared.get(name).or_else(|| shipped().get(name))
    }

    /// A dialect with what it has of those that it is based on. One of a shipped name that is based on it has the shipped one.
    fn whole(
        &self,
        config: &DialectConfig,
        own_name: Option<&str>,
    ) -> Result<DialectConfig, Vec<InvalidDialect>> {
        let mut own_name = own_name;
        let whole = config.with_bases(|name| {
            // Only what is based on itself at once has the shipped one; others are based on each other in a circle.
            let found = match own_name.take() == Some(name) {
                true => shipped().get(name),
                false => self.named(name),
            };
            found.ok_or_else(|| did_you_mean(name, self.names()))
        });
        whole.map_err(|fault| vec![fault])
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let declared = self.declared.keys().map(String::as_str);
        declared.chain(shipped().keys().copied())
    }
}

/// Reports a dialect that says nothing for the protocols of a channel.
fn check_protocols(
    whole: &DialectConfig,
    shown: &str,
    protocols: &[Protocol],
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    let formats = protocols
        .iter()
        .filter_map(|protocol| protocol.descriptor().translation);
    let formats: Vec<ProviderFormat> = formats.collect();
    let sections = whole.formats();
    let counts = |format: &ProviderFormat| {
        // Claude has the same rules behind both.
        let is_of_claude = *format == ProviderFormat::Converse;
        sections.contains(format) || is_of_claude && sections.contains(&ProviderFormat::Messages)
    };
    if formats.iter().any(counts) {
        return;
    }
    let names: Vec<&str> = sections.iter().map(|format| format.name()).collect();
    let names = match names.is_empty() {
        true => "no protocol".to_owned(),
        false => names.join(", "),
    };
    let reason = format!("{shown} has nothing for the protocols of this channel, but for {names}");
    let hint = match formats.is_empty() {
        true => "remove it: a dialect is for chat, messages, responses and converse".to_owned(),
        false => {
            let formats: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            format!(
                "remove it, or declare one with a section `{}`",
                formats.join("` or `")
            )
        }
    };
    problems.error(at, reason, Some(&hint));
}

fn report(
    built: Result<Dialect, Vec<InvalidDialect>>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<Dialect> {
    let faults = match built {
        Ok(dialect) => return Some(dialect),
        Err(faults) => faults,
    };
    for fault in faults {
        let at = format!("{at}{}", fault.pointer);
        problems.error(&at, fault.reason, fault.hint.as_deref());
    }
    None
}
