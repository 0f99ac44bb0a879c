//! The handover of listening sockets between processes of two versions, one of which the test plays.

use crate::harness::process::Process;
use crate::harness::simulator::wait_for_listener;
use crate::harness::{Gateway, PATIENCE, Request, TestSetup, eventually};
use headgate_protocol::Protocol;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{UnixListener, UnixStream};

/// What an earlier version sends with its sockets, and expects.
const GREETING: &[u8] = b"headgate sockets 1";

/// The abstract name of the handover socket of a gateway at `address`.
fn name(address: SocketAddr) -> std::os::unix::net::SocketAddr {
    // SAFETY: the call has no preconditions.
    let user = unsafe { libc::geteuid() };
    let name = format!("headgate/{user}/{address}");
    std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap()
}

#[tokio::test]
async fn a_successor_of_an_earlier_version_gets_the_sockets() {
    let setup = TestSetup::start().await;
    let Gateway { address, admin, .. } = setup.gateway;
    let mut predecessor = UnixStream::connect_addr(&name(address)).unwrap();
    let descriptor = predecessor.as_raw_fd();
    let received = tokio::task::spawn_blocking(move || {
        let (mut text, mut attached) = ([0; 64], nix::cmsg_space!([RawFd; 3]));
        let mut slices = [IoSliceMut::new(&mut text)];
        let flags = MsgFlags::empty();
        let message = recvmsg::<UnixAddr>(descriptor, &mut slices, Some(&mut attached), flags);
        let message = message.unwrap();
        let mut sockets = Vec::new();
        for part in message.cmsgs().unwrap() {
            if let ControlMessageOwned::ScmRights(files) = part {
                sockets.extend(files);
            }
        }
        let length = message.bytes;
        (text[..length].to_vec(), sockets)
    });
    let (text, sockets) = received.await.unwrap();
    assert_eq!(text, GREETING);
    assert_eq!(sockets.len(), 3, "gateway, admin pages, handover");
    // SAFETY: the system has just opened these descriptors for this process, and nothing else uses them.
    let listener = |at: usize| unsafe { TcpListener::from_raw_fd(sockets[at]) };
    let served = [listener(0), listener(1)].map(|socket| socket.local_addr().unwrap());
    assert_eq!(served, [address, admin]);
    predecessor.write_all(b"!").unwrap();
    let mut process = setup.gateway.process;
    process
        .wait_for_line("the new process has taken over")
        .await;
}

#[tokio::test]
async fn sockets_of_an_earlier_version_are_taken_over() {
    let setup = TestSetup::start().await;
    let [listener, admin] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let (address, admin_address) = (listener.local_addr().unwrap(), admin.local_addr().unwrap());
    let handover = UnixListener::bind_addr(&name(address)).unwrap();
    for socket in [&listener, &admin] {
        socket.set_nonblocking(true).unwrap();
    }
    let file = setup.gateway.folder.path().join("routes.yaml");
    let (listen, admin_text) = (address.to_string(), admin_address.to_string());
    let mut successor = Process::spawn(&[
        "run",
        "--upgrade",
        "--config",
        file.to_str().unwrap(),
        "--listen",
        &listen,
        "--admin",
        &admin_text,
    ]);
    let serving = tokio::task::spawn_blocking(move || {
        let (mut connection, _) = handover.accept().unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        let sockets = [
            listener.as_raw_fd(),
            admin.as_raw_fd(),
            handover.as_raw_fd(),
        ];
        let attached = [ControlMessage::ScmRights(&sockets)];
        let (descriptor, text) = (connection.as_raw_fd(), [IoSlice::new(GREETING)]);
        sendmsg::<UnixAddr>(descriptor, &text, &attached, MsgFlags::empty(), None).unwrap();
        let mut byte = [0];
        connection.read_exact(&mut byte).unwrap();
        byte
    });
    assert_eq!(serving.await.unwrap(), *b"!");
    successor.wait_for_line("headgate is listening").await;
    wait_for_listener(address).await;
    let request = Request::ask(Protocol::Chat);
    let served = eventually("a response", async || {
        let mut connection = crate::harness::Connection::to(address).await;
        connection.send(&request.bytes()).await.ok()?;
        connection.answer().await
    });
    assert_eq!(served.await.status, 200);
}
