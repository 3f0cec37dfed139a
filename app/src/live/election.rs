//! Which of several hidden pages notifies, in browsers without locks: the lowest number that takes
//! part in a round. Plain data; `keeper.rs` sends and hears.
//!
//! ```text
//!   round: "here 7" ─► all others; whoever has a lower number says so, which beats the 7
//!   "gone" ─► a new round
//! ```

/// A page's part in the election.
#[derive(Debug)]
pub(super) struct Election {
    rank: u32,
    is_beaten: bool,
    is_elected: bool,
}

/// What a page does about what it has heard.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// Nothing.
    Silence,
    /// Say [`Election::here`].
    Here,
    /// Begin a new round.
    Round,
}

/// What a page says when it no longer takes part.
pub(super) const GONE: &str = "gone";

impl Election {
    pub(super) fn new(rank: u32) -> Self {
        Self { rank, is_beaten: false, is_elected: false }
    }

    /// Begins a round, with what is said to the others.
    pub(super) fn begin(&mut self) -> String {
        self.is_beaten = false;
        self.here()
    }

    /// What a page says that takes part.
    pub(super) fn here(&self) -> String {
        format!("here {}", self.rank)
    }

    /// Processes what another page says.
    pub(super) fn hear(&mut self, said: &str) -> Reply {
        if said == GONE {
            return Reply::Round;
        }
        let rank = said.strip_prefix("here ").and_then(|rank| rank.parse::<u32>().ok());
        match rank {
            Some(rank) if rank < self.rank => {
                (self.is_beaten, self.is_elected) = (true, false);
                Reply::Silence
            }
            Some(rank) if rank > self.rank => Reply::Here,
            _ => Reply::Silence,
        }
    }

    /// Ends a round.
    pub(super) fn conclude(&mut self) {
        self.is_elected = !self.is_beaten;
    }

    pub(super) fn is_elected(&self) -> bool {
        self.is_elected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everybody hears what one says, and their replies.
    fn say(pages: &mut [Election], from: usize, said: &str) -> Vec<usize> {
        let mut rounds = Vec::new();
        for to in 0..pages.len() {
            if to == from {
                continue;
            }
            match pages[to].hear(said) {
                Reply::Silence => {}
                Reply::Here => {
                    let here = pages[to].here();
                    assert_eq!(pages[from].hear(&here), Reply::Silence);
                }
                Reply::Round => rounds.push(to),
            }
        }
        rounds
    }

    fn round(pages: &mut [Election], from: usize) {
        let here = pages[from].begin();
        say(pages, from, &here);
        pages[from].conclude();
    }

    fn elected(pages: &[Election]) -> Vec<u32> {
        pages.iter().filter(|page| page.is_elected()).map(|page| page.rank).collect()
    }

    #[test]
    fn one_page_is_elected_whoever_comes_first() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut pages = [7, 3, 5].map(Election::new);
            for page in order {
                round(&mut pages, page);
            }
            assert_eq!(elected(&pages), [3], "{order:?}");
        }
        let mut alone = [Election::new(9)];
        round(&mut alone, 0);
        assert_eq!(elected(&alone), [9]);
    }

    #[test]
    fn another_page_follows_one_that_goes() {
        let mut pages = vec![Election::new(7), Election::new(3), Election::new(5)];
        (0..3).for_each(|page| round(&mut pages, page));
        let rounds = say(&mut pages, 1, GONE);
        assert_eq!(rounds, [0, 2]);
        pages.remove(1);
        (0..2).for_each(|page| round(&mut pages, page));
        assert_eq!(elected(&pages), [5]);
    }

    #[test]
    fn noise_changes_nothing() {
        let mut page = Election::new(3);
        page.conclude();
        for said in ["", "here", "here x", "here 3", "here -1"] {
            assert_eq!(page.hear(said), Reply::Silence, "{said}");
        }
        assert!(page.is_elected());
    }
}
