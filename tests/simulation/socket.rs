//! Simulated connections: bytes arrive in pieces, after random latencies, and either end may close or reset.

use super::random::Random;
use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes on their way before a writer waits.
const WINDOW: usize = 32 << 10;

/// One end of a connection. Dropping it closes the connection.
#[derive(Debug)]
pub struct SocketEnd {
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
    random: Arc<Random>,
    arrival: Option<Pin<Box<Sleep>>>,
    /// Counts the open ends of one side.
    open: Option<Arc<AtomicUsize>>,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Pipe {
    packets: VecDeque<(Instant, Bytes)>,
    last_arrival: Option<Instant>,
    end: Option<(Instant, PipeEnd)>,
    /// When the writer learns that the reader has closed.
    reader_gone: Option<Instant>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PipeEnd {
    Fin,
    Reset,
}

/// Two connected ends; `open` counts the first one as long as it lives.
pub fn pair(random: &Random, open: Option<Arc<AtomicUsize>>) -> (SocketEnd, SocketEnd) {
    let (there, back) = (Arc::default(), Arc::default());
    let random = Arc::new(random.fork());
    if let Some(open) = &open {
        open.fetch_add(1, Ordering::Relaxed);
    }
    let end = |incoming: &Arc<Mutex<Pipe>>, outgoing: &Arc<Mutex<Pipe>>, open| SocketEnd {
        incoming: incoming.clone(),
        outgoing: outgoing.clone(),
        random: random.clone(),
        arrival: None,
        open,
    };
    (end(&back, &there, open), end(&there, &back, None))
}

fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pipe {
    /// When what is sent now arrives: never before what was sent earlier.
    fn arrival(&mut self, random: &Random) -> Instant {
        let arrival = Instant::now() + random.latency();
        let arrival = self.last_arrival.map_or(arrival, |last| last.max(arrival));
        self.last_arrival = Some(arrival);
        arrival
    }

    fn send_end(&mut self, random: &Random, end: PipeEnd) {
        if self.end.is_none() {
            let arrival = self.arrival(random);
            self.end = Some((arrival, end));
            if end == PipeEnd::Reset {
                self.packets.clear();
            }
            self.wake_reader();
        }
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// When the next packet, or the end, arrives.
    fn next_arrival(&self) -> Option<Instant> {
        let packet = self.packets.front().map(|(at, _)| *at);
        packet.or(self.end.map(|(at, _)| at))
    }
}

impl SocketEnd {
    /// Breaks the connection: the other end loses what is on its way.
    pub fn reset(self) {
        lock(&self.outgoing).send_end(&self.random, PipeEnd::Reset);
    }
}

impl AsyncRead for SocketEnd {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut pipe = lock(&self.incoming);
            pipe.reader = Some(context.waker().clone());
            let Some(arrival) = pipe.next_arrival() else {
                return Poll::Pending;
            };
            if arrival <= Instant::now() {
                let Some((_, packet)) = pipe.packets.front_mut() else {
                    return Poll::Ready(match pipe.end {
                        Some((_, PipeEnd::Reset)) => Err(io::ErrorKind::ConnectionReset.into()),
                        _ => Ok(()),
                    });
                };
                let room = buffer.remaining().min(packet.len());
                buffer.put_slice(&packet[..room]);
                packet.advance(room);
                if packet.is_empty() {
                    pipe.packets.pop_front();
                }
                if let Some(writer) = pipe.writer.take() {
                    writer.wake();
                }
                return Poll::Ready(Ok(()));
            }
            drop(pipe);
            let sleep = self
                .arrival
                .get_or_insert_with(|| Box::pin(sleep_until(arrival)));
            if sleep.deadline() != arrival {
                sleep.as_mut().reset(arrival);
            }
            ready!(sleep.as_mut().poll(context));
            self.arrival = None;
        }
    }
}

impl AsyncWrite for SocketEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = lock(&self.outgoing);
        if pipe.reader_gone.is_some_and(|at| at <= Instant::now()) || pipe.end.is_some() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if pipe.reader_gone.is_some() {
            // It is lost: the writer does not know yet that nobody reads it.
            return Poll::Ready(Ok(bytes.len()));
        }
        let waiting: usize = pipe.packets.iter().map(|(_, packet)| packet.len()).sum();
        if waiting >= WINDOW {
            pipe.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let size = match self.random.percent(30) {
            true => 1 + usize::try_from(self.random.below(bytes.len() as u64)).unwrap(),
            false => bytes.len(),
        };
        let size = size.min(bytes.len());
        let arrival = pipe.arrival(&self.random);
        let packet = Bytes::copy_from_slice(&bytes[..size]);
        pipe.packets.push_back((arrival, packet));
        pipe.wake_reader();
        Poll::Ready(Ok(size))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.outgoing).send_end(&self.random, PipeEnd::Fin);
        Poll::Ready(Ok(()))
    }
}

impl Drop for SocketEnd {
    fn drop(&mut self) {
        let mut incoming = lock(&self.incoming);
        let gone = Instant::now() + self.random.latency();
        incoming.reader_gone = Some(gone);
        // As with TCP: closing while bytes wait to be read resets the connection.
        let end = match incoming.packets.is_empty() {
            true => PipeEnd::Fin,
            false => PipeEnd::Reset,
        };
        incoming.packets.clear();
        if let Some(writer) = incoming.writer.take() {
            writer.wake();
        }
        drop(incoming);
        lock(&self.outgoing).send_end(&self.random, end);
        if let Some(open) = &self.open {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
