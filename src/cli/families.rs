//! `headgate families`: prints the definitions of the built-in video families.

use super::CommandError;
use headgate_config::hint::did_you_mean;
use headgate_core::task::families::{SHIPPED, shipped};

#[derive(clap::Args)]
pub struct VideoFamiliesArgs {
    /// Name of a family [default: all], printed in the format of routes.yaml.
    name: Option<String>,
}

pub fn run(args: &VideoFamiliesArgs) -> Result<(), CommandError> {
    let Some(name) = &args.name else {
        println!("families:");
        for (name, definition) in SHIPPED {
            println!("  {name}:");
            for line in definition.lines() {
                println!("{}", format!("    {line}").trim_end());
            }
        }
        return Ok(());
    };
    let Some(definition) = shipped(name) else {
        let names = SHIPPED.map(|(name, _)| name);
        let hint = did_you_mean(name, names).unwrap_or_default();
        return Err(CommandError::new(format!(
            "error: unknown family `{name}`; {hint}"
        )));
    };
    print!("{definition}");
    Ok(())
}
