//! Whether a view follows the end of what it shows: by what the reader wants, not by where it is.

/// Within this distance of the end, a reader who scrolls down wants to follow it, in pixels.
const END: i32 = 48;

/// The visible part of the content, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ViewPort {
    pub(crate) top: i32,
    pub(crate) height: i32,
    pub(crate) content: i32,
}

/// Whether the reader wants to see what is new, and from where the view moved last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Following {
    view: ViewPort,
    follows: bool,
}

impl Default for Following {
    fn default() -> Self {
        Self { view: ViewPort::default(), follows: true }
    }
}

impl Following {
    /// Whether new content is to be scrolled into view.
    pub(crate) fn follows(self) -> bool {
        self.follows
    }

    /// The reader does something that looks back: turns the wheel up, selects a text.
    pub(crate) fn stop(&mut self) {
        self.follows = false;
    }

    /// The reader wants to see the end.
    pub(crate) fn resume(&mut self) {
        self.follows = true;
    }

    /// The content or the view has another size.
    pub(crate) fn resized(&mut self, now: ViewPort) {
        self.view = now;
    }

    /// The view has moved. Only a person moves it up, unless the content got shorter or the view
    /// higher; and only a person comes closer to the end: the browser keeps the distance when what
    /// stands above changes.
    pub(crate) fn moved(&mut self, now: ViewPort) {
        let before = self.view;
        let has_shrunk = now.content < before.content || now.height > before.height;
        if now.top < before.top && !has_shrunk {
            self.follows = false;
        } else if now.distance() < before.distance() && now.distance() <= END && !has_shrunk {
            self.follows = true;
        }
        self.view = now;
    }
}

impl ViewPort {
    /// How far the end is below the view.
    fn distance(self) -> i32 {
        self.content - self.top - self.height
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(top: i32, content: i32) -> ViewPort {
        ViewPort { top, height: 500, content }
    }

    fn after(moves: &[ViewPort]) -> bool {
        let mut following = Following::default();
        for view in moves {
            following.moved(*view);
        }
        following.follows()
    }

    #[test]
    fn the_end_is_followed_until_the_reader_looks_back() {
        let end = at(1500, 2000);
        assert!(after(&[end, at(1500, 3000)]), "grown since");
        assert!(after(&[end, at(1300, 1800)]), "shrunk");
        let higher = ViewPort { height: 700, ..at(1300, 2000) };
        assert!(after(&[end, higher]), "the view became higher");
        assert!(!after(&[end, at(1480, 2000)]), "moved up a little");
        let up = [end, at(1000, 2000)];
        assert!(!after(&up));
        assert!(!after(&[up[0], up[1], at(1200, 2400)]), "down, but not to the end");
        assert!(after(&[up[0], up[1], at(1860, 2400)]), "down to the end");
        let near = [end, at(1470, 2000)];
        assert!(!after(&[near[0], near[1], at(1570, 2100)]), "more above, at the same distance");
        assert!(!after(&[near[0], near[1], at(1470, 1980)]), "closer, but only as it shrank");
    }

    #[test]
    fn a_wish_counts_wherever_the_view_is() {
        let mut following = Following::default();
        following.moved(at(1500, 2000));
        following.stop();
        following.moved(at(1500, 2000));
        assert!(!following.follows(), "it has not moved");
        following.resized(at(1500, 2300));
        following.moved(at(1800, 2300));
        assert!(following.follows(), "down to what has come since");
        following.stop();
        following.resume();
        assert!(following.follows());
    }
}
