//! Which processes descend from which.

use rustix::process::Pid;

/// All descendants of a process, on systems that reveal them. A process whose parent has exited
/// becomes a child of the nearest supervisor; without one it is nobody's descendant.
pub(crate) fn descendants(process: Pid) -> Vec<Pid> {
    let mut family = vec![process];
    let mut index = 0;
    while let Some(parent) = family.get(index).copied() {
        family.extend(children(parent));
        index += 1;
    }
    family.split_off(1)
}

/// The children of a process, on systems that reveal them.
pub(crate) fn children(parent: Pid) -> Vec<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
    let lists = threads.into_iter().flatten().flatten().map(|thread| {
        let children = std::fs::read_to_string(thread.path().join("children"));
        children.unwrap_or_default()
    });
    let parse = |list: String| -> Vec<Pid> {
        let numbers = list.split_whitespace().filter_map(|child| child.parse().ok());
        numbers.filter_map(Pid::from_raw).collect()
    };
    lists.flat_map(parse).collect()
}
