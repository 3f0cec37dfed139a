//! What is selected on the page of a job. The address says it, so that a reload, a link and the
//! browser's Back lead to the same.

use super::Page;
use crate::reactive::prelude::*;
use crate::router::{address, navigator, replacer};
use crate::state::feed::Feed;
use crate::state::job::JobState;

/// The arguments of the address. Iterations are counted from 1; the driving tab is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Chosen {
    work: Option<u32>,
    /// An earlier iteration; without it, the newest.
    round: Option<usize>,
    tab: Option<usize>,
}

impl Chosen {
    /// The address of a run with what is chosen in it.
    fn url(self, mut url: String) -> String {
        let Some(work) = self.work else { return url };
        let work = Some(work as usize);
        for (name, value) in [("node", work), ("iteration", self.round), ("attempt", self.tab)] {
            if let Some(value) = value {
                url.push('&');
                url.push_str(name);
                url.push('=');
                url.push_str(&value.to_string());
            }
        }
        url
    }
}

/// The selected work, and what of it is shown.
#[derive(Clone, Copy)]
pub(super) struct Selection {
    chosen: Memo<Chosen>,
    /// The selected work.
    pub(super) work: Memo<Option<u32>>,
    go: Callback<String>,
    replace: Callback<String>,
}

impl Selection {
    /// Follows the address. Nothing can be selected in a preview.
    pub(super) fn new(can_select: bool) -> Self {
        let address = address();
        let chosen = Memo::new(move |_| {
            let number = |name| address.argument(name)?.parse().ok();
            let work = number("node").filter(|_| can_select);
            Chosen {
                work: work.and_then(|work| u32::try_from(work).ok()),
                round: number("iteration").filter(|round| *round > 0),
                tab: number("attempt"),
            }
        });
        let (go, replace) = (navigator(), replacer());
        Self {
            chosen,
            work: Memo::new(move |_| chosen.get().work),
            go: Callback::new(move |url: String| go(&url)),
            replace: Callback::new(move |url: String| replace(&url)),
        }
    }

    /// The chosen tab, if the address names one; tracked.
    pub(super) fn tab(self) -> Option<usize> {
        self.chosen.get().tab
    }

    /// The chosen iteration, if the address names one; tracked.
    pub(super) fn round(self) -> Option<usize> {
        self.chosen.get().round
    }
}

impl Page {
    /// Selects a work, and opens its newest attempt, or the one that asks.
    pub(super) fn select(self, work: u32) {
        let newest =
            self.tracking.and_then(|it| it.job.with_untracked(|job| newest_tab(job, work)));
        self.follow.set(false);
        let chosen = Chosen { work: Some(work), round: None, tab: newest };
        self.selection.go.run(chosen.url(self.url()));
    }

    /// Goes back to where nothing is selected.
    pub(super) fn deselect(self) {
        self.selection.go.run(self.url());
    }

    /// Selects a work; if it is the selected one, goes back.
    pub(super) fn toggle(self, work: u32) {
        if self.selection.work.get_untracked() == Some(work) {
            self.deselect();
        } else {
            self.select(work);
        }
    }

    /// Shows another tab of the selected work.
    pub(super) fn choose_tab(self, tab: usize) {
        let chosen = Chosen { tab: Some(tab), ..self.selection.chosen.get_untracked() };
        self.selection.replace.run(chosen.url(self.url()));
    }

    /// Shows another iteration of the selected work; without a number, the newest.
    pub(super) fn choose_round(self, round: Option<usize>) {
        let chosen = Chosen { round, tab: None, ..self.selection.chosen.get_untracked() };
        self.selection.replace.run(chosen.url(self.url()));
    }
}

/// The tab to open: one that asks, or the newest attempt. `None` if that is still to be read.
fn newest_tab(job: &JobState<Feed>, id: u32) -> Option<usize> {
    if job.stored_run(id).is_some() {
        return None;
    }
    let Some(work) = job.work(id).filter(|work| work.task().is_some()) else {
        // Once it starts, its attempts are new tabs, which stay behind.
        return (!job.has_ended()).then_some(0);
    };
    let asks = |tab: &usize| work.tab(*tab).is_some_and(|feed| feed.waiting.get_untracked() > 0);
    (0..=work.attempts()).find(asks).or(Some(work.attempts()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_carries_what_is_selected() {
        for (work, round, tab, url) in [
            (None, None, None, "/j"),
            (None, Some(2), Some(1), "/j"),
            (Some(3), None, None, "/j&node=3"),
            (Some(0), None, Some(0), "/j&node=0&attempt=0"),
            (Some(3), Some(2), Some(1), "/j&node=3&iteration=2&attempt=1"),
        ] {
            assert_eq!(Chosen { work, round, tab }.url("/j".to_owned()), url);
        }
    }
}
