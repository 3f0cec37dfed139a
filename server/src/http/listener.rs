//! Takes connections and serves HTTP/1.1 on each until the shutdown begins.
//!
//! ```text
//!  accept ─► one future a connection, owned by Lifecycle ─► requests, one after the other
//!                         ▲
//!  Lifecycle::ending ─────┴─ finish the running request, then close
//! ```

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use engine::lifecycle::Lifecycle;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::Portal;
use super::outbox::{Outbox, Watched};

/// A client that sends no complete request head for so long is let go. This is also how long an
/// idle kept-alive connection stays open.
const HEAD_DEADLINE: Duration = Duration::from_mins(1);
/// How many connections may wait to be accepted; the system may allow fewer.
const WAITING_CONNECTIONS: u32 = 4096;
/// When the system is out of file handles, trying again at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

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
pub async fn serve(listener: TcpListener, portal: Portal, lifecycle: &Lifecycle) {
    loop {
        let accepted = tokio::select! {
            () = lifecycle.ending() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                lifecycle.spawn(connection(stream, portal.clone(), lifecycle.clone()));
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "can't take connections for now");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, portal: Portal, lifecycle: Lifecycle) {
    // Small answers must not wait for the next packet; without it we are merely slower.
    let _ = stream.set_nodelay(true);
    let outbox = Outbox::default();
    let io = Watched::new(TokioIo::new(stream), outbox.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let portal = portal.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(outbox.clone());
        async move { Ok::<_, Infallible>(portal.answer(request).await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_DEADLINE)
            // Answers are small: one buffer is cheaper to write than a list of them.
            .writev(false)
            .serve_connection(io, service)
    );
    let result = tokio::select! {
        biased;
        result = connection.as_mut() => result,
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

/// Errors that tell of a client that was gone before we came to it.
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
