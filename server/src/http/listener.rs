//! Accepts connections and serves HTTP/1.1 on each until the shutdown begins.
//!
//! ```text
//!  accept ─► one future a connection, owned by Lifecycle ─► requests, one after the other
//!                         ▲
//!  Lifecycle::ending ─────┴─ finish the running request, then close
//! ```

use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use platform::lifecycle::Lifecycle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;

use super::outbox::{Outbox, Watched};
use super::places::{Limits, Place, Places};
use super::{Portal, error};
use crate::security::peer::Peer;

/// A client that sends no complete request head for this long is disconnected. This is also how
/// long an idle keep-alive connection stays open.
const HEAD_DEADLINE: Duration = Duration::from_mins(1);
/// Backlog of connections to be accepted; the system may allow fewer.
const WAITING_CONNECTIONS: u32 = 4096;
/// When the system is out of file handles, retrying at once would only burn CPU time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Shortest interval between log lines about connections that cannot be accepted.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);
/// How long, and how many bytes, a refused connection is read, so that the client gets the reason.
const REFUSAL_DEADLINE: Duration = Duration::from_secs(1);
const REFUSAL_BYTES: usize = 64 * 1024;

/// Limit of a request head, and the size of the write buffer.
const BUFFER: usize = 64 * 1024;

/// Counts connections that could not be accepted; logged once a minute at most.
#[derive(Default)]
struct Refused {
    since_warning: u64,
    last_warning: Option<Instant>,
}

impl Refused {
    fn count(&mut self, reason: &dyn Display) {
        self.since_warning += 1;
        if self.last_warning.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL) {
            let refused = self.since_warning;
            tracing::warn!(%reason, refused, "can't take further connections for now");
            *self = Self { since_warning: 0, last_warning: Some(Instant::now()) };
        }
    }
}

/// Listens with a large backlog. The usual 128 places are soon taken in a rush, and a client that
/// finds none retries only after a second.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On Windows this would mean something else: taking the port from another process.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_CONNECTIONS)
}

/// Serves until the shutdown begins, then returns at once; `lifecycle` waits for what still runs.
/// `files` is how many files and sockets the process may have open.
pub async fn serve(listener: TcpListener, portal: Portal, lifecycle: &Lifecycle, files: u64) {
    let places = Places::new(Limits::for_files(files), portal.is_locked());
    let mut refused = Refused::default();
    loop {
        let accepted = tokio::select! {
            () = lifecycle.ending() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(place) = places.admit(peer.ip()) else {
                    refused.count(&"all places are taken");
                    continue;
                };
                lifecycle.spawn(connection(stream, place, portal.clone(), lifecycle.clone()));
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                refused.count(&error);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, place: Arc<Place>, portal: Portal, lifecycle: Lifecycle) {
    // Small answers must not wait for the next packet; without this we are merely slower.
    let _ = stream.set_nodelay(true);
    // The client has already disconnected.
    let Some(peer) = Peer::of(&stream) else { return };
    if portal.is_for_one_user() && peer.is_another_user() {
        tracing::debug!("refused a connection of another user");
        return refuse(stream).await;
    }
    let outbox = Outbox::default();
    let io = Watched::new(TokioIo::new(stream), outbox.clone());
    let caller = place.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let portal = portal.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(outbox.clone());
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(caller.clone());
        async move { Ok::<_, Infallible>(portal.answer(request).await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_DEADLINE)
            // Also limits how much of an answer is buffered for a client that does not read.
            .max_buf_size(BUFFER)
            // Answers are small: one buffer is cheaper to write than a list of buffers.
            .writev(false)
            .serve_connection(io, service)
    );
    let result = tokio::select! {
        biased;
        result = connection.as_mut() => result,
        () = place.evicted() => {
            tracing::debug!(peer = %peer.address(), "disconnected to make room for another client");
            return;
        }
        () = lifecycle.ending() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        // Clients hang up, time out and send garbage: not worth a warning.
        tracing::debug!(%error, "connection ended early");
    }
}

/// Sends the reason, and closes the connection.
async fn refuse(mut stream: TcpStream) {
    let farewell = async {
        stream.write_all(error::OTHER_USER.as_bytes()).await?;
        stream.shutdown().await?;
        // Closing with unread input would reset the connection and discard the answer.
        let mut rest = vec![0; REFUSAL_BYTES];
        let mut left = REFUSAL_BYTES;
        while left > 0 {
            match stream.read(&mut rest).await? {
                0 => break,
                length => left = left.saturating_sub(length),
            }
        }
        io::Result::Ok(())
    };
    // A client that does not take it is gone.
    let _ = tokio::time::timeout(REFUSAL_DEADLINE, farewell).await;
}

/// Errors of a client that disconnected before it was accepted.
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
