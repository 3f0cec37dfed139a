//! Compresses ahead of time: the server only picks the variant that the browser accepts.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::product::Kind;

/// Whether files with this name are worth compressing; images and fonts already are compressed.
pub(crate) fn is_compressible(path: &str) -> bool {
    const EXTENSIONS: [&str; 11] =
        ["css", "html", "ico", "js", "json", "map", "svg", "txt", "wasm", "webmanifest", "xml"];
    path.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension))
}

/// The compressed variants of a file, each with its file extension.
pub(crate) fn variants(content: &[u8], kind: Kind) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    match kind {
        Kind::Quick => Ok(vec![("gz", gzip(content, Compression::fast())?)]),
        #[cfg(feature = "small")]
        Kind::Small => {
            let (brotli, gzip) = std::thread::scope(|scope| {
                let brotli = scope.spawn(|| brotli(content));
                (brotli.join(), gzip(content, Compression::best()))
            });
            let brotli = brotli.map_err(|_| io::Error::other("brotli panicked"))??;
            Ok(vec![("br", brotli), ("gz", gzip?)])
        }
        #[cfg(not(feature = "small"))]
        Kind::Small => Err(io::Error::other("these tools were built without brotli")),
    }
}

/// Compresses with brotli at its highest level.
#[cfg(feature = "small")]
fn brotli(content: &[u8]) -> io::Result<Vec<u8>> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: content.len(),
        ..Default::default()
    };
    let mut compressed = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut compressed, &parameters)?;
    Ok(compressed)
}

/// Without a timestamp, so that the same input gives the same bytes.
fn gzip(content: &[u8], level: Compression) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
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
    fn every_variant_comes_back_as_it_was() {
        let content = b"the same words, the same words, the same words".repeat(20);
        let kinds = if cfg!(feature = "small") {
            vec![Kind::Quick, Kind::Small]
        } else {
            vec![Kind::Quick]
        };
        for kind in kinds {
            let mut sizes = Vec::new();
            for (ending, variant) in variants(&content, kind).expect("in memory") {
                assert_eq!(unpacked(ending, &variant), content, "{kind:?} {ending}");
                sizes.push(variant.len());
            }
            assert!(sizes.is_sorted(), "brotli is smaller: {sizes:?}");
        }
    }

    fn unpacked(ending: &str, variant: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        match ending {
            "gz" => {
                let mut decoder = flate2::read::GzDecoder::new(variant);
                decoder.read_to_end(&mut plain).expect("valid gzip");
            }
            #[cfg(feature = "small")]
            "br" => {
                brotli::BrotliDecompress(&mut &*variant, &mut plain).expect("valid brotli");
            }
            other => panic!("unknown variant: {other}"),
        }
        plain
    }
}
