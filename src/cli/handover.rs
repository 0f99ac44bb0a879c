//! Hands the listening sockets over to a new process, so that a new binary starts without closing connections.
//!
//! The running gateway listens at an abstract Unix socket, whose name derives from the gateway's address and which
//! leaves no file. A successor that has built its whole configuration connects there, receives the listening sockets,
//! and sends a byte once it accepts connections; only then does the old process close its own. A successor that fails
//! earlier changes nothing.

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, getsockopt, recvmsg, sendmsg, sockopt,
};
use nix::unistd::Uid;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;
use tokio::io::{AsyncReadExt, Interest};
use tokio::time::timeout;

/// The old process sends this with its sockets; the text identifies the version of the protocol.
const GREETING: &[u8] = b"headgate sockets 1";
/// The successor sends this once it accepts connections.
const SERVING: u8 = b'!';
/// The sockets: gateway, admin pages, and the handover socket itself.
const SOCKETS: usize = 3;
/// How long either side waits for the other.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The sockets that a process offers to its successor.
pub struct SocketOffer {
    gateway: OwnedFd,
    admin: OwnedFd,
    name: UnixListener,
    /// The same socket, once the process accepts on it.
    waiting: Option<tokio::net::UnixListener>,
}

/// The sockets that a process received from its predecessor.
pub struct InheritedSockets {
    /// The predecessor's process id.
    pub pid: i32,
    pub gateway: Option<TcpListener>,
    pub admin: Option<TcpListener>,
    pub name: Option<UnixListener>,
    predecessor: UnixStream,
}

impl SocketOffer {
    /// Offers the sockets of the gateway at `address`, at the inherited handover socket or at a new one.
    ///
    /// # Errors
    /// Another process listens at the handover socket.
    pub fn new(
        address: SocketAddr,
        gateway: OwnedFd,
        admin: OwnedFd,
        inherited: Option<UnixListener>,
    ) -> io::Result<Self> {
        let name = match inherited {
            Some(name) => name,
            None => UnixListener::bind_addr(&socket_name(address)?)?,
        };
        name.set_nonblocking(true)?;
        Ok(Self {
            gateway,
            admin,
            name,
            waiting: None,
        })
    }

    /// Waits until a successor accepts connections; returns its process id.
    pub async fn until_taken(&mut self) -> i32 {
        loop {
            match self.offer_once().await {
                Ok(pid) => return pid,
                Err(error) => {
                    tracing::warn!(%error, "upgrade failed: the new process did not take over; this process keeps serving")
                }
            }
        }
    }

    async fn offer_once(&mut self) -> io::Result<i32> {
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => none.insert(tokio::net::UnixListener::from_std(self.name.try_clone()?)?),
        };
        let (mut successor, _) = waiting.accept().await?;
        let who = successor.peer_cred()?;
        check_owner(who.uid())?;
        let send = || self.send(successor.as_raw_fd());
        successor.async_io(Interest::WRITABLE, send).await?;
        // The connection closes without a byte if the successor fails before it accepts.
        let message = timeout(MAX_WAIT, successor.read_u8()).await??;
        match message {
            SERVING => Ok(who.pid().unwrap_or_default()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn send(&self, to: RawFd) -> io::Result<()> {
        let sockets: [RawFd; SOCKETS] = [
            self.gateway.as_raw_fd(),
            self.admin.as_raw_fd(),
            self.name.as_raw_fd(),
        ];
        let attached = [ControlMessage::ScmRights(&sockets)];
        let text = [IoSlice::new(GREETING)];
        sendmsg::<UnixAddr>(to, &text, &attached, MsgFlags::empty(), None)?;
        Ok(())
    }
}

impl InheritedSockets {
    /// Takes over from the gateway that serves `address`; `None` if there is none.
    ///
    /// # Errors
    /// There is one, but the handover fails.
    pub fn take(address: SocketAddr) -> io::Result<Option<Self>> {
        let predecessor = match UnixStream::connect_addr(&socket_name(address)?) {
            Ok(predecessor) => predecessor,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(None),
            Err(error) => return Err(error),
        };
        let who = getsockopt(&predecessor, sockopt::PeerCredentials)?;
        check_owner(who.uid())?;
        predecessor.set_read_timeout(Some(MAX_WAIT))?;
        let mut sockets = received(&predecessor)?.into_iter();
        Ok(Some(Self {
            pid: who.pid(),
            gateway: sockets.next().map(TcpListener::from),
            admin: sockets.next().map(TcpListener::from),
            name: sockets.next().map(UnixListener::from),
            predecessor,
        }))
    }

    /// Notifies the predecessor that this process accepts connections.
    ///
    /// # Errors
    /// The predecessor is gone.
    pub fn serving(mut self) -> io::Result<()> {
        self.predecessor.write_all(&[SERVING])
    }
}

fn socket_name(address: SocketAddr) -> io::Result<std::os::unix::net::SocketAddr> {
    let name = format!("headgate/{}/{address}", Uid::effective());
    std::os::unix::net::SocketAddr::from_abstract_name(name)
}

/// Any process can bind or connect to an abstract socket, so sockets are handed over only within one user (or by root).
fn check_owner(uid: u32) -> io::Result<()> {
    match uid == Uid::effective().as_raw() || uid == 0 {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("the running process belongs to user {uid}; run the upgrade as that user"),
        )),
    }
}

fn received(from: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut text = [0; GREETING.len()];
    let mut attached = nix::cmsg_space!([RawFd; SOCKETS]);
    let mut slices = [IoSliceMut::new(&mut text)];
    let message = recvmsg::<UnixAddr>(
        from.as_raw_fd(),
        &mut slices,
        Some(&mut attached),
        MsgFlags::MSG_CMSG_CLOEXEC,
    )?;
    let mut sockets = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(files) = part {
            // SAFETY: the system has just opened these descriptors for this process, and nothing else uses them.
            sockets.extend(
                files
                    .into_iter()
                    .map(|file| unsafe { OwnedFd::from_raw_fd(file) }),
            );
        }
    }
    if text != GREETING || sockets.len() != SOCKETS {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the running process did not answer: it is of another version, or is stopping",
        ));
    }
    Ok(sockets)
}
