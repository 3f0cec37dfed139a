//! Compression ahead of time: the server only picks the variant that the browser accepts.

use std::io::Write;

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Whether files of this name are worth compressing; images and fonts already are.
pub(crate) fn is_compressible(path: &str) -> bool {
    const EXTENSIONS: [&str; 11] =
        ["css", "html", "ico", "js", "json", "map", "svg", "txt", "wasm", "webmanifest", "xml"];
    path.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension))
}

/// The smallest brotli makes of it.
pub(crate) fn brotli(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let parameters = BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: content.len(),
        ..BrotliEncoderParams::default()
    };
    let mut compressed = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut compressed, &parameters)?;
    Ok(compressed)
}

/// The smallest gzip makes of it; without a date, so that the same input gives the same bytes.
pub(crate) fn gzip(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn only_what_is_not_compressed_yet_is_compressible() {
        for (path, expected) in
            [("pkg/a.js", true), ("favicon.ico", true), ("logo.png", false), ("LICENSE", false)]
        {
            assert_eq!(is_compressible(path), expected, "{path}");
        }
    }

    #[test]
    fn both_kinds_come_back_as_they_were() {
        let content = b"the same words, the same words, the same words".repeat(20);
        let mut plain = Vec::new();
        let gzipped = gzip(&content).expect("in memory");
        flate2::read::GzDecoder::new(&*gzipped).read_to_end(&mut plain).expect("valid gzip");
        assert_eq!(plain, content);

        plain.clear();
        let compressed = brotli(&content).expect("in memory");
        brotli::BrotliDecompress(&mut &*compressed, &mut plain).expect("valid brotli");
        assert_eq!(plain, content);
        assert!(compressed.len() < gzipped.len());
    }
}
