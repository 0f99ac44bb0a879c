//! The channels that `headgate explain` prints: what each would get, and what a translation would lose.

use super::CommandError;
use super::live::LiveChannelStatuses;
use super::style::{self, styled};
use headgate_config::hint::did_you_mean;
use headgate_config::snapshot::router::Route;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_gateway::preview::{
    AttemptPreview, ListedMember, MemberList, TranslationPreview, UpstreamRequestPreview, preview,
};
use headgate_protocol::fault::Fault;
use headgate_tracing::ExchangeTrace;

/// What is printed of candidates.
pub(super) struct CandidatePrinter<'a> {
    pub route: &'a Route,
    pub request: &'a RequestView,
    pub trace: Option<&'a ExchangeTrace>,
    pub live: Option<&'a LiveChannelStatuses>,
    /// Whether bodies are printed.
    pub has_bodies: bool,
}

impl CandidatePrinter<'_> {
    /// Prints candidates with their numbers in the order of attempts.
    ///
    /// # Errors
    /// Nothing can be sent to the first one.
    pub(super) async fn print(&self, candidates: &[(usize, &Candidate)]) -> Result<(), Fault> {
        let mut first = None;
        for (number, candidate) in candidates {
            let attempt = preview(self.route, self.request, candidate, self.trace).await?;
            let fault = self.print_attempt(*number, candidate, attempt);
            first.get_or_insert(fault);
        }
        match first.flatten() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    /// Prints one candidate; why the request cannot be translated for it is returned.
    fn print_attempt(
        &self,
        number: usize,
        candidate: &Candidate,
        attempt: AttemptPreview,
    ) -> Option<Fault> {
        let channel = &candidate.channel;
        println!();
        println!(
            "{number}. {} (tier {}, weight {})",
            channel.name, channel.tier, channel.weight
        );
        if let Some(model) = &candidate.model {
            println!("   model    {}", model.name);
        }
        if let Some(translation) = &attempt.translation {
            print_translation(translation);
        }
        let fault = match attempt.request {
            Ok(request) => {
                print_request(&request, self.has_bodies);
                None
            }
            Err(fault) => {
                let refused = styled(style::BAD, "refused");
                anstream::println!("   {refused}  {}", fault.message);
                Some(fault)
            }
        };
        if let Some(live) = self.live {
            println!("   now      {}", live.candidate_status(candidate));
        }
        fault
    }
}

/// The candidates of the channel with this name, or all of them, each with its number.
///
/// # Errors
/// None is on this channel.
pub(super) fn select_candidates<'c>(
    candidates: &'c [Candidate],
    channel: Option<&str>,
) -> Result<Vec<(usize, &'c Candidate)>, CommandError> {
    let all = candidates
        .iter()
        .enumerate()
        .map(|(index, one)| (index + 1, one));
    let Some(name) = channel else {
        return Ok(all.collect());
    };
    let selected: Vec<_> = all.filter(|(_, one)| &*one.channel.name == name).collect();
    match selected.is_empty() {
        false => Ok(selected),
        true => {
            let known = candidates.iter().map(|one| &*one.channel.name);
            let hint = did_you_mean(name, known);
            let hint = hint.unwrap_or_else(|| "expected one that serves the model".into());
            Err(CommandError::new(format!(
                "error: channel `{name}` does not serve this request; {hint}"
            )))
        }
    }
}

/// Prints a request to a provider.
pub(super) fn print_request(preview: &UpstreamRequestPreview, has_body: bool) {
    println!("   method   {}", preview.method);
    println!("   url      {}", preview.url);
    for (name, value) in &preview.headers {
        println!("   header   {name}: {value}");
    }
    println!("   body     {} bytes", preview.body_bytes);
    if has_body {
        println!("{}", String::from_utf8_lossy(&preview.body));
    }
}

fn print_translation(translation: &TranslationPreview) {
    let TranslationPreview { pair, members } = translation;
    println!(
        "   protocol {}->{}",
        pair.caller.name(),
        pair.channel.name()
    );
    let MemberList { members, left_out } = members;
    for member in members {
        print_member(member);
    }
    if *left_out > 0 {
        println!("   member   and {left_out} more");
    }
}

fn print_member(member: &ListedMember) {
    let ListedMember {
        path,
        sign,
        reason,
        count,
    } = member;
    let count = match count {
        1 => String::new(),
        count => format!(" ({count} of its kind)"),
    };
    let reason = match &**reason {
        "" => String::new(),
        reason => format!(" {reason}"),
    };
    println!("   member   {sign:<2} {path}{count}{reason}");
}
