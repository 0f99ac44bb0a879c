//! `headgate filters`: lists every filter, its chain and what it does; with a name, the settings of one.

use super::CommandError;
use super::style::{self, styled};
use crate::features::FEATURES;
use headgate_config::hint::did_you_mean;
use headgate_config::settings_table::{
    SettingsReferenceRow, SettingsReferenceTable, settings_tables,
};
use headgate_core::filter::descriptor::{ChainSide, FilterDescriptor};

#[derive(clap::Args)]
pub struct FiltersArgs {
    /// Prints this filter's settings.
    name: Option<String>,
}

pub fn run(args: &FiltersArgs) -> Result<(), CommandError> {
    let Some(name) = &args.name else {
        print_list();
        return Ok(());
    };
    let filters = FEATURES.filters();
    match filters.find(name) {
        Some(kind) => print_filter(kind),
        None => {
            let names = filters.iter().map(|kind| kind.name);
            let hint = did_you_mean(name, names);
            let hint = hint.unwrap_or_else(|| "`headgate filters` lists all".into());
            return Err(CommandError::new(format!(
                "error: there is no filter `{name}`; {hint}"
            )));
        }
    }
    Ok(())
}

fn print_list() {
    let filters = FEATURES.filters();
    let width = filters.iter().map(|kind| kind.name.len()).max();
    let width = width.unwrap_or_default();
    for kind in FEATURES.filters().iter() {
        println!("{:width$}  {:8}  {}", kind.name, side(kind), kind.summary);
    }
}

fn print_filter(kind: &FilterDescriptor) {
    let FilterDescriptor { name, summary, .. } = kind;
    anstream::println!("{} ({} chain)", styled(style::STRONG, name), side(kind));
    println!("{summary}");
    let Some(schema) = kind.settings else {
        println!("\nIt has no settings.");
        return;
    };
    let tables = settings_tables(&schema());
    if tables.is_empty() {
        println!("\nIts settings are no mapping; docs/filters/{name}.md has them.");
    }
    for SettingsReferenceTable { place, rows } in tables {
        println!();
        match &*place {
            "" => anstream::println!("{}", styled(style::STRONG, "settings")),
            place => anstream::println!("{}", styled(style::STRONG, place)),
        }
        for SettingsReferenceRow {
            key,
            default,
            meaning,
        } in rows
        {
            let default = match &*default {
                "required" => default,
                _ => format!("default {default}"),
            };
            anstream::println!("  {} ({default})", styled(style::STRONG, key));
            println!("      {meaning}");
        }
    }
}

fn side(kind: &FilterDescriptor) -> &'static str {
    match kind.side {
        ChainSide::Request => "request",
        ChainSide::Response => "response",
        ChainSide::Either => "either",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_config::settings_table::markdown;
    use std::path::Path;

    const BEGIN: &str = "<!-- settings: generated from the type; HEADGATE_BLESS=1 cargo test --lib cli::filters -->\n";
    const END: &str = "<!-- end of settings -->\n";

    /// The page with the settings that the type has.
    fn blessed(page: &str, tables: &str) -> Option<String> {
        let (before, rest) = page.split_once(BEGIN)?;
        let (_, after) = rest.split_once(END)?;
        Some(format!("{before}{BEGIN}{tables}{END}{after}"))
    }

    #[test]
    fn the_pages_of_filters_have_the_settings_of_their_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/filters");
        for kind in FEATURES.filters().iter() {
            let tables = kind.settings.map(|schema| settings_tables(&schema()));
            let tables = markdown(&tables.unwrap_or_default());
            let path = folder.join(format!("{}.md", kind.name));
            let page = std::fs::read_to_string(&path).unwrap();
            if tables.is_empty() {
                assert!(!page.contains(BEGIN), "{}", kind.name);
                continue;
            }
            let expected = blessed(&page, &tables);
            let expected = expected.unwrap_or_else(|| panic!("{}: no {BEGIN}", kind.name));
            if std::env::var_os("HEADGATE_BLESS").is_some() {
                std::fs::write(&path, &expected).unwrap();
            }
            assert_eq!(
                std::fs::read_to_string(&path).unwrap(),
                expected,
                "{}",
                kind.name
            );
        }
    }
}
