//! `headgate families`: lists the built-in video families, or prints their definitions.

use super::CommandError;
use headgate_config::families;
use headgate_config::hint::did_you_mean;
use headgate_core::task::families::{SHIPPED, shipped};
use headgate_core::task::family::VideoFamily;
use serde::Serialize;

#[derive(clap::Args)]
pub struct VideoFamiliesArgs {
    /// Name of a family, whose definition is printed in the format of routes.yaml [default: all are listed].
    name: Option<String>,
    /// Prints the definitions of all families, as the section `families` of routes.yaml.
    #[arg(long, conflicts_with_all = ["name", "json"])]
    definitions: bool,
    /// Prints the list as a JSON array.
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

/// A line of the list.
#[derive(Serialize)]
struct ListedFamily {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vendor: Option<String>,
    /// What a create may have: `text`, and the roles of media.
    modes: Vec<&'static str>,
}

pub fn run(args: &VideoFamiliesArgs) -> Result<(), CommandError> {
    match &args.name {
        Some(name) => return print_definition(name),
        None if args.definitions => print_definitions(),
        None if args.json => println!("{}", serde_json::to_string_pretty(&list())?),
        None => print_list(&list()),
    }
    Ok(())
}

/// All built-in families, in the order of their names.
fn list() -> Vec<ListedFamily> {
    let configs = families::shipped();
    let listed = SHIPPED.iter().map(|(name, _)| {
        let config = &configs[*name];
        let family = VideoFamily::new(name, config);
        let family = family.expect("a built-in family is valid: a test builds each");
        ListedFamily {
            name,
            vendor: config.vendor.clone(),
            modes: family.modes(),
        }
    });
    listed.collect()
}

fn print_list(families: &[ListedFamily]) {
    let width = |text: fn(&ListedFamily) -> &str| {
        let widths = families.iter().map(|family| text(family).chars().count());
        widths.max().unwrap_or_default()
    };
    let (names, vendors) = (width(|family| family.name), width(ListedFamily::vendor));
    for family in families {
        let (name, vendor) = (family.name, family.vendor());
        let modes = family.modes.join(", ");
        println!("{name:names$}  {vendor:vendors$}  {modes}");
    }
}

impl ListedFamily {
    fn vendor(&self) -> &str {
        self.vendor.as_deref().unwrap_or("-")
    }
}

fn print_definitions() {
    println!("families:");
    for (name, definition) in SHIPPED {
        println!("  {name}:");
        for line in definition.lines() {
            println!("{}", format!("    {line}").trim_end());
        }
    }
}

fn print_definition(name: &str) -> Result<(), CommandError> {
    let Some(definition) = shipped(name) else {
        let names = SHIPPED.map(|(name, _)| name);
        let hint = did_you_mean(name, names);
        let hint = hint.unwrap_or_else(|| "`headgate families` lists all".into());
        return Err(CommandError::new(format!(
            "error: unknown family `{name}`; {hint}"
        )));
    };
    print!("{definition}");
    Ok(())
}
