//! How often a reader is answered under load.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The parameters of [`Pace`].
#[derive(Clone, Debug)]
pub struct PaceSettings {
    /// The shortest interval between two answers to one reader.
    pub min_interval: Duration,
    /// Up to this many active readers, the interval is the shortest one.
    pub free_readers: u32,
    /// What each further active reader adds to the interval.
    pub per_reader: Duration,
    /// The longest interval between two answers to a reader that has something to read.
    pub max_interval: Duration,
}

impl Default for PaceSettings {
    /// 5 ms up to 100 readers, 70 ms for 500: about 7,000 answers a second, which two cores can
    /// serve besides their other work.
    fn default() -> Self {
        Self {
            min_interval: Duration::from_millis(5),
            free_readers: 100,
            per_reader: Duration::from_micros(162),
            max_interval: Duration::from_millis(500),
        }
    }
}

/// Rations answers over all logs of a server.
///
/// An answer costs the server far more than an entry, so under load several entries must share one.
/// The rule: after an answer, the same reader is not answered again for an *interval*. A reader
/// that calls after a quiet period is answered at once, whatever the load, and a single reader is
/// never more than a few milliseconds behind.
///
/// The interval grows with the number of active readers, not with the number of answers: answers
/// become fewer as the interval grows, so that feedback loop would oscillate. Readers are counted
/// in time slots: each counts once per slot, and the larger count of this slot and the last one
/// applies, so that a rise shows at once and a fall after a slot or two.
#[derive(Debug)]
pub struct Pace {
    settings: PaceSettings,
    origin: Instant,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    now: u64,
    current: u32,
    previous: u32,
}

/// The slot in which a reader was last counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaceMark(u64);

impl Default for PaceMark {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

/// Longer than the interval at any load that the server can handle, so that an active reader counts
/// in every slot.
const SLOT: Duration = Duration::from_millis(200);

impl Pace {
    /// Starts with no active readers.
    pub fn new(settings: PaceSettings) -> Self {
        Self { settings, origin: Instant::now(), slots: Mutex::default() }
    }

    /// Counts the answered reader, once per slot.
    pub(super) fn note_answer(&self, mark: &mut PaceMark, now: Instant) {
        let mut slots = self.slots_at(now);
        if mark.0 != slots.now {
            mark.0 = slots.now;
            slots.current += 1;
        }
    }

    /// The interval between two answers to one reader at the current load.
    pub fn interval(&self, now: Instant) -> Duration {
        let busy = {
            let slots = self.slots_at(now);
            slots.current.max(slots.previous)
        };
        let settings = &self.settings;
        let extra = settings.per_reader * busy.saturating_sub(settings.free_readers);
        (settings.min_interval + extra).min(settings.max_interval)
    }

    fn slots_at(&self, now: Instant) -> parking_lot::MutexGuard<'_, Slots> {
        let elapsed = now.saturating_duration_since(self.origin).as_millis();
        let slot = u64::try_from(elapsed / SLOT.as_millis()).unwrap_or(u64::MAX - 1);
        let mut slots = self.slots.lock();
        // A thread that read the clock a little earlier must not go back to an old slot.
        if slot > slots.now {
            slots.previous = if slot == slots.now + 1 { slots.current } else { 0 };
            slots.current = 0;
            slots.now = slot;
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval_for(readers: u32) -> Duration {
        let pace = Pace::new(PaceSettings::default());
        let now = Instant::now();
        for _ in 0..readers {
            pace.note_answer(&mut PaceMark::default(), now);
        }
        pace.interval(now)
    }

    #[test]
    fn the_interval_grows_with_the_readers_being_answered() {
        for (readers, least, most) in
            [(0, 5, 5), (1, 5, 5), (100, 5, 5), (200, 15, 25), (500, 65, 72), (100_000, 500, 500)]
        {
            let interval = interval_for(readers).as_millis();
            assert!((least..=most).contains(&interval), "{readers}: {interval}");
        }
    }

    #[test]
    fn one_reader_counts_once_a_slot_however_often_it_is_answered() {
        let pace = Pace::new(PaceSettings::default());
        let now = Instant::now();
        let mut mark = PaceMark::default();
        for _ in 0..1000 {
            pace.note_answer(&mut mark, now);
        }
        assert_eq!(pace.interval(now), Duration::from_millis(5));
    }

    #[test]
    fn the_interval_falls_when_the_rush_is_over() {
        let pace = Pace::new(PaceSettings::default());
        let now = Instant::now();
        for _ in 0..500 {
            pace.note_answer(&mut PaceMark::default(), now);
        }
        assert!(pace.interval(now + SLOT) > Duration::from_millis(60));
        assert_eq!(pace.interval(now + 3 * SLOT), Duration::from_millis(5));
    }
}
