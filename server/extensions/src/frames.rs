//! Messages on a pipe: a header with `Content-Length`, an empty line, and the body.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Limit for a message, in bytes.
pub(super) const MAX_FRAME: usize = 8 * 1024 * 1024;
/// Limit for the header, in bytes.
const MAX_HEAD: u64 = 4 * 1024;

/// Why there is no next message.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    /// Plain text was written instead of a message.
    #[error("it wrote to its standard output, which is reserved: `{0}`")]
    Garbage(String),
    #[error("it sent a message of {0} bytes, {MAX_FRAME} are accepted")]
    TooLarge(usize),
    #[error("its standard output can't be read: {0}")]
    Io(#[from] io::Error),
}

/// Reads the next message; `None` if the pipe was closed between two messages.
pub(super) async fn read_frame<R: AsyncBufRead + Unpin>(
    pipe: &mut R,
) -> Result<Option<Vec<u8>>, FrameError> {
    let mut length = None;
    let mut is_first = true;
    let mut head = pipe.take(MAX_HEAD);
    loop {
        let mut line = Vec::new();
        head.read_until(b'\n', &mut line).await?;
        if line.is_empty() && is_first {
            return Ok(None);
        }
        is_first = false;
        let Some(line) = line.strip_suffix(b"\n") else {
            return Err(garbage(&line));
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        let text = std::str::from_utf8(line).map_err(|_| garbage(line))?;
        let (name, value) = text.split_once(':').ok_or_else(|| garbage(line))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse().map_err(|_| garbage(line))?);
        } else if !name.eq_ignore_ascii_case("content-type") {
            return Err(garbage(line));
        }
    }
    let length: usize = length.ok_or_else(|| garbage(b""))?;
    if length > MAX_FRAME {
        return Err(FrameError::TooLarge(length));
    }
    let mut message = vec![0; length];
    head.into_inner().read_exact(&mut message).await?;
    Ok(Some(message))
}

fn garbage(line: &[u8]) -> FrameError {
    let text: String = String::from_utf8_lossy(line).trim().chars().take(80).collect();
    FrameError::Garbage(text)
}

/// A message with its header.
pub(super) fn frame(message: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", message.len()).into_bytes();
    frame.extend_from_slice(message);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(mut bytes: &[u8]) -> (Vec<String>, Option<String>) {
        let mut messages = Vec::new();
        loop {
            match read_frame(&mut bytes).await {
                Ok(Some(message)) => messages.push(String::from_utf8(message).expect("text")),
                Ok(None) => return (messages, None),
                Err(error) => return (messages, Some(error.to_string())),
            }
        }
    }

    #[tokio::test]
    async fn what_is_written_is_read() {
        let mut bytes = frame(b"{}");
        bytes.extend(frame("\u{e4}\n".as_bytes()));
        bytes.extend(b"content-length:1\nContent-Type: x\n\n1");
        assert_eq!(
            read_all(&bytes).await,
            (vec!["{}".to_owned(), "\u{e4}\n".to_owned(), "1".to_owned()], None)
        );
    }

    #[tokio::test]
    async fn anything_else_is_refused() {
        for (bytes, word) in [
            (&b"hello\n"[..], "`hello`"),
            (b"hello", "`hello`"),
            (b"note: x\r\n\r\n{}", "`note: x`"),
            (b"Content-Length: x\r\n\r\n", "`Content-Length: x`"),
            (b"\r\n", "reserved"),
            (b"Content-Length: 99999999\r\n\r\n", "99999999 bytes"),
            (b"Content-Length: 5\r\n\r\n{}", "can't be read"),
        ] {
            let (messages, error) = read_all(bytes).await;
            assert_eq!(messages, [""; 0]);
            assert!(error.as_ref().is_some_and(|error| error.contains(word)), "{error:?}");
        }
        let long = [b'x'; 10_000];
        assert!(read_all(&long).await.1.is_some_and(|error| error.len() < 200));
    }
}
