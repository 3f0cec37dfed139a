//! One request and its answer.

use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::answer::{Answer, End, Step};
use crate::{Received, Shared};

/// In bytes. A client that sends a longer head is broken.
const LONGEST_HEAD: usize = 64 * 1024;

pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Aborted with this future, so that no connection outlives the stub.
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        connections.spawn(serve(socket, shared.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let Ok(request) = read_request(&mut socket).await else {
        return;
    };
    // Every piece must arrive separately.
    let _ = socket.set_nodelay(true);
    let answer = shared.answer_to(&request);
    shared.requests.lock().push(request);
    shared.counts.send_modify(|counts| {
        counts.requests += 1;
        counts.answering += 1;
    });
    let (mut from_client, mut to_client) = socket.split();
    let mut beyond = [0; 1024];
    let complete = tokio::select! {
        sent = send(&mut to_client, answer) => sent.is_ok(),
        // A client sends nothing after its request: whatever can be read means that it has hung up.
        _ = from_client.read(&mut beyond) => false,
    };
    shared.counts.send_modify(|counts| {
        counts.answering -= 1;
        counts.aborted += usize::from(!complete);
    });
}

async fn send(socket: &mut (impl AsyncWriteExt + Unpin), answer: Answer) -> io::Result<()> {
    for step in answer.steps {
        match step {
            Step::Send(bytes) => {
                socket.write_all(&bytes).await?;
                socket.flush().await?;
            }
            Step::Pause(time) => tokio::time::sleep(time).await,
        }
    }
    if answer.end == End::Hang {
        std::future::pending::<()>().await;
    }
    socket.shutdown().await
}

async fn read_request(socket: &mut TcpStream) -> io::Result<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if socket.read_buf(&mut bytes).await? == 0 || bytes.len() > LONGEST_HEAD {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Received { method, path, headers, body: Value::Null };
    let length: usize = request.header("content-length").parse().unwrap_or_default();
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if socket.read_buf(&mut body).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    request.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(request)
}

impl Shared {
    /// The next answer for the request's path. If a test's script is too short, the answer is an
    /// error that says so, and which no client retries.
    fn answer_to(&self, request: &Received) -> Answer {
        let path = request.path.split('?').next().unwrap_or_default();
        let always = match self.script.lock().get_mut(path) {
            Some(script) => match script.next.pop_front() {
                Some(answer) => return answer,
                None => script.always.clone(),
            },
            None => None,
        };
        match always {
            Some(always) => always(request),
            None => Answer::error(404, &format!("not in the script: {}", request.path)),
        }
    }
}
