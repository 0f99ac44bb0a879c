//! Notices that a client has closed its connection while bytes that it sent wait to be read, which a read would not report.

use crate::timers::fast_sleep;
use pingora_core::protocols::Stream;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Interval of asking the system. It reports no event while bytes wait.
const INTERVAL: Duration = Duration::from_millis(40);

/// States of a connection whose peer has closed it (`include/net/tcp_states.h` of Linux): TIME_WAIT, CLOSE, CLOSE_WAIT,
/// LAST_ACK, CLOSING.
const CLOSED_BY_PEER: [u8; 5] = [6, 7, 8, 9, 11];

/// A watch that is polled with the connection.
#[derive(Default)]
pub(crate) struct ClientDepartureWatch {
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl ClientDepartureWatch {
    /// Ready when the client has closed the connection.
    pub fn poll(&mut self, stream: &Stream, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let pause = self
                .pause
                .get_or_insert_with(|| Box::pin(fast_sleep(INTERVAL)));
            ready!(pause.as_mut().poll(context));
            self.pause = None;
            if has_left(stream) {
                return Poll::Ready(());
            }
        }
    }
}

/// Whether the client has closed or reset the connection.
fn has_left(stream: &Stream) -> bool {
    let socket = stream.get_socket_digest();
    let info = socket.and_then(|socket| socket.tcp_info());
    info.is_some_and(|info| CLOSED_BY_PEER.contains(&info.tcpi_state))
}
