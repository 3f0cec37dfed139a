//! Files whose paths complete what somebody types.

use std::ops::ControlFlow;

use tokio_util::sync::CancellationToken;

use super::Workspace;

/// How many files are offered.
const MOST: usize = 50;
/// How many names are looked at: people type on while they wait.
const MAX_ENTRIES: usize = 20_000;

/// The files of a workspace whose paths contain a text, in any case: first those whose names begin
/// with it, then those whose names contain it. What `.gitignore` excludes and what tools must not
/// read is left out. Blocks.
pub fn complete_file(workspace: &Workspace, text: &str, cancel: &CancellationToken) -> Vec<String> {
    let text = text.to_lowercase();
    let mut found = Vec::new();
    let visited = workspace.visit_some(MAX_ENTRIES, cancel, &mut |file| {
        if let Some(rank) = rank(&file.path.to_lowercase(), &text) {
            found.push((rank, file.path.clone()));
        }
        ControlFlow::Continue(())
    });
    if visited.is_err() {
        return Vec::new();
    }
    // Stable: otherwise files stand in the order of the visit, those of a folder before its subfolders.
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().take(MOST).map(|(_, path)| path).collect()
}

/// How well a path matches; less is better.
fn rank(path: &str, text: &str) -> Option<u8> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.starts_with(text) {
        Some(0)
    } else if name.contains(text) {
        Some(1)
    } else {
        path.contains(text).then_some(2)
    }
}
