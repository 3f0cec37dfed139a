//! A keep-alive HTTP/1.1 connection with just what the scenarios need: a complete HTTP library
//! would cost more time than the measured server.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::net::TcpStream;

/// The server's address, and the number of its responses. Cheap to clone.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Target {
    address: SocketAddr,
    responses: Arc<AtomicU64>,
}

impl Target {
    pub(in crate::bench) fn new(address: SocketAddr) -> Self {
        Self { address, responses: Arc::default() }
    }

    /// How many responses all clients of this target received.
    pub(in crate::bench) fn responses(&self) -> u64 {
        self.responses.load(Ordering::Relaxed)
    }
}

/// One connection, one request at a time.
pub(in crate::bench) struct Client {
    target: Target,
    stream: TcpStream,
    request: String,
    /// Buffer for input; the first `filled` bytes are valid.
    input: Vec<u8>,
    filled: usize,
}

impl Client {
    pub(in crate::bench) async fn connect(target: &Target) -> io::Result<Self> {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        let input = vec![0; 2048];
        Ok(Self { target: target.clone(), stream, request: String::new(), input, filled: 0 })
    }

    /// The body of the response to a GET of a path below `/api/`.
    pub(in crate::bench) async fn get(&mut self, path: &str) -> io::Result<&str> {
        self.call("GET", path, "").await
    }

    /// The body of the response to a POST to a path below `/api/`.
    pub(in crate::bench) async fn post(&mut self, path: &str, body: &str) -> io::Result<&str> {
        self.call("POST", path, body).await
    }

    async fn call(&mut self, method: &str, path: &str, body: &str) -> io::Result<&str> {
        self.send(method, path, body).await?;
        let response = self.receive().await?;
        self.target.responses.fetch_add(1, Ordering::Relaxed);
        if response.status != 200 {
            return Err(broken(&format!("status {} for {path}", response.status)));
        }
        let body = &self.input[response.body_start..response.end()];
        std::str::from_utf8(body).map_err(|_| broken("an answer is not UTF-8"))
    }

    /// Sends a request without waiting for the response.
    pub(in crate::bench) async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> io::Result<()> {
        self.request.clear();
        let (request, host, length) = (&mut self.request, self.target.address, body.len());
        let _ = write!(request, "{method} /api/{path} HTTP/1.1\r\nhost: {host}\r\n");
        if !body.is_empty() {
            let _ = write!(request, "content-length: {length}\r\n");
        }
        let _ = write!(request, "\r\n{body}");
        let mut rest = self.request.as_bytes();
        while !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stream.writable().await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn receive(&mut self) -> io::Result<ResponseHead> {
        self.filled = 0;
        let mut head = None;
        loop {
            if head.is_none() {
                head = ResponseHead::parse(&self.input[..self.filled])?;
            }
            match head {
                Some(head) if self.filled == head.end() => return Ok(head),
                Some(head) if self.filled > head.end() => {
                    return Err(broken("the server says more than it was asked"));
                }
                Some(head) if self.input.len() < head.end() => self.input.resize(head.end(), 0),
                None if self.filled == self.input.len() => self.input.resize(2 * self.filled, 0),
                _ => {}
            }
            match self.stream.try_read(&mut self.input[self.filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stream.readable().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The fields that determine where a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResponseHead {
    status: u16,
    body_start: usize,
    body_length: usize,
}

impl ResponseHead {
    /// `None` as long as the head is incomplete.
    fn parse(input: &[u8]) -> io::Result<Option<Self>> {
        // The server's heads are ASCII; a body may be cut in the middle of a character.
        let ascii = input.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let Some(length) = ascii.find("\r\n\r\n") else { return Ok(None) };
        let mut lines = ascii[..length].split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3));
        let status = status.and_then(|status| status.parse().ok());
        let body_length = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        match (status, body_length) {
            (Some(status), Some(body_length)) => {
                Ok(Some(Self { status, body_start: length + 4, body_length }))
            }
            _ => Err(broken("an answer without a status or a content-length")),
        }
    }

    fn end(self) -> usize {
        self.body_start + self.body_length
    }
}

fn broken(message: &str) -> io::Error {
    io::Error::other(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_cut_at_its_declared_length() {
        let text = "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 5\r\n\r\nhällo";
        let head = ResponseHead::parse(text.as_bytes()).expect("well formed").expect("complete");
        assert_eq!(head.status, 200);
        assert_eq!(&text[head.body_start..head.end()], "häll");
    }

    #[test]
    fn an_incomplete_head_waits_for_more() {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n";
        for length in 0..=text.len() {
            let head = ResponseHead::parse(&text.as_bytes()[..length]).expect("not wrong yet");
            assert_eq!(head, None);
        }
    }

    #[test]
    fn a_body_that_is_cut_in_a_letter_does_not_hide_the_head() {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nä";
        let head = ResponseHead::parse(&text.as_bytes()[..text.len() - 1]).expect("well formed");
        assert_eq!(head.expect("complete").end(), text.len());
    }

    #[test]
    fn a_response_without_a_length_is_refused() {
        assert!(ResponseHead::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(ResponseHead::parse(b"SMTP ready\r\ncontent-length: 1\r\n\r\n").is_err());
    }
}
