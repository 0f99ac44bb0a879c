//! Memory sizes of an exchange's types and futures, with a bound for each.
//!
//! `cargo test --lib exchange::sizes -- --nocapture` prints them.

use super::Exchange;
use super::attempts::AttemptLoop;
use super::reply_plan::ReplyPlan;
use super::response_transcoder::ResponseTranscoder;
use crate::upstream::response::UpstreamResponse;
use headgate_channel::lease::ChannelLease;
use std::sync::Arc;

/// The size of the future that a call returns, in bytes.
pub(crate) fn future_bytes<A, F: Future>(_: impl FnOnce(A) -> F) -> usize {
    size_of::<F>()
}

/// Sizes in bytes on 64-bit machines, measured and allowed. Lower a bound when a size falls. A commit that raises a
/// bound gives the reason.
#[test]
fn exchange_futures_stay_within_their_size_limits() {
    type Running = &'static mut Exchange<'static>;
    type Trying = &'static mut AttemptLoop<'static>;
    type Relayed = (
        Running,
        UpstreamResponse,
        &'static ChannelLease,
        &'static mut ResponseTranscoder,
    );
    let sizes = [
        ("Exchange", size_of::<Exchange<'static>>(), 1_745),
        ("UpstreamResponse", size_of::<UpstreamResponse>(), 240),
        (
            "run",
            future_bytes(|exchange: Running| exchange.run()),
            4_870,
        ),
        (
            "attempt_each",
            future_bytes(|exchange: Running| exchange.attempt_each(Arc::from([]))),
            4_765,
        ),
        (
            "judge",
            future_bytes(
                |(attempts, response, lease): (Trying, UpstreamResponse, ChannelLease)| {
                    attempts.evaluate(response, lease)
                },
            ),
            2_100,
        ),
        (
            "relay",
            future_bytes(|(exchange, response, lease, transcoder): Relayed| {
                exchange.relay(response, lease, ReplyPlan::Response, transcoder)
            }),
            3_220,
        ),
    ];
    for (name, bytes, _) in sizes {
        println!("{name}: {bytes} bytes");
    }
    for (name, bytes, most) in sizes {
        assert!(
            bytes <= most,
            "{name} takes {bytes} bytes, more than {most}"
        );
    }
}
