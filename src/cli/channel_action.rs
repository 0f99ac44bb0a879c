//! `headgate drain`, `undrain` and `reset`: actions on a channel of a running gateway.

use super::CommandError;
use super::admin_client::query_value;
use super::admin_pages::AdminConnectionArgs;
use serde_json::Value;

/// The channel of an action.
#[derive(clap::Args)]
pub struct ChannelActionArgs {
    /// Name of the channel.
    channel: String,
    #[command(flatten)]
    pages: AdminConnectionArgs,
}

/// What to do with a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelAction {
    Drain,
    Undrain,
    Reset,
}

impl ChannelAction {
    fn path(self) -> &'static str {
        match self {
            Self::Drain => "/channels/drain",
            Self::Undrain => "/channels/undrain",
            Self::Reset => "/channels/reset",
        }
    }
}

/// Acts on the channel, and prints its state afterwards.
pub fn run(args: &ChannelActionArgs, action: ChannelAction) -> Result<(), CommandError> {
    let path = format!("{}?channel={}", action.path(), query_value(&args.channel));
    let state = args.pages.json("POST", &path)?;
    println!("{}", sentence(&state));
    let unavailable: Vec<&str> = state["unavailable_models"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !unavailable.is_empty() {
        anstream::eprintln!(
            "{}",
            super::style::report(&format!(
                "warning: no channel is left for {}",
                unavailable.join(", ")
            ))
        );
    }
    Ok(())
}

fn sentence(state: &Value) -> String {
    let channel = state["channel"].as_str().unwrap_or_default();
    let in_flight = &state["in_flight"];
    let status = match (state["drained"] == true, state["usable"] == true) {
        (true, _) => "drained: no new requests",
        (false, true) => "usable",
        (false, false) => "not usable, see `headgate status`",
    };
    format!("{channel}: {status}; {in_flight} in flight")
}

#[cfg(test)]
mod tests {
    use super::sentence;
    use serde_json::json;

    #[test]
    fn the_state_of_a_channel_is_a_sentence() {
        for (drained, usable, expected) in [
            (true, false, "main: drained: no new requests; 2 in flight"),
            (false, true, "main: usable; 2 in flight"),
            (
                false,
                false,
                "main: not usable, see `headgate status`; 2 in flight",
            ),
        ] {
            let state =
                json!({"channel": "main", "drained": drained, "usable": usable, "in_flight": 2});
            assert_eq!(sentence(&state), expected);
        }
    }
}
