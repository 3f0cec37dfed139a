//! Takes connections and serves HTTP/1.1 on each until the shutdown begins.
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

/// A client that sends no complete request head for so long is let go. This is also how long an
/// idle kept-alive connection stays open.
const HEAD_DEADLINE: Duration = Duration::from_mins(1);
/// How many connections may wait to be accepted; the system may allow fewer.
const WAITING_CONNECTIONS: u32 = 4096;
/// When the system is out of file handles, trying again at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often the log says that connections can't be taken.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);
/// How long, and how much, of a refused connection is read, so that it reads why it was refused.
const REFUSAL_DEADLINE: Duration = Duration::from_secs(1);
const REFUSAL_BYTES: usize = 64 * 1024;

/// The largest request head, and the buffer of an answer.
const BUFFER: usize = 64 * 1024;

/// Connections that could not be taken, logged once a minute at most.
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

/// Listens with room for a rush. The usual 128 places for connections that wait to be accepted are
/// soon taken, and a client that finds none tries again only after a second.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On Windows it would mean something else: to take the port from another process.
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
    // Small answers must not wait for the next packet; without it we are merely slower.
    let _ = stream.set_nodelay(true);
    // Gone already.
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
            // Also what is kept of an answer that its client does not read.
            .max_buf_size(BUFFER)
            // Answers are small: one buffer is cheaper to write than a list of them.
            .writev(false)
            .serve_connection(io, service)
    );
    let result = tokio::select! {
        biased;
        result = connection.as_mut() => result,
        () = place.evicted() => {
            tracing::debug!(peer = %peer.address(), "let go for somebody else");
            return;
        }
        () = lifecycle.ending() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        // Clients hang up, time out and send garbage: their business, not worth a warning.
        tracing::debug!(%error, "connection ended early");
    }
}

/// Says why, and hangs up.
async fn refuse(mut stream: TcpStream) {
    let farewell = async {
        stream.write_all(error::OTHER_USER.as_bytes()).await?;
        stream.shutdown().await?;
        // What was sent and not read would take the answer back.
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
    // Whoever does not take it has gone.
    let _ = tokio::time::timeout(REFUSAL_DEADLINE, farewell).await;
}

/// Errors that tell of a client that was gone before we came to it.
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
