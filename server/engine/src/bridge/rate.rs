//! The rate limit of messages.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

/// Allows a burst of one minute's messages, then one per interval (GCRA).
#[derive(Debug)]
pub(super) struct Rate {
    per_minute: NonZeroU32,
    /// When the whole burst is available again. One interval later for each message.
    replenished_at: Instant,
}

impl Rate {
    pub(super) fn new(per_minute: NonZeroU32, now: Instant) -> Self {
        Self { per_minute, replenished_at: now }
    }

    pub(super) fn set(&mut self, per_minute: NonZeroU32, now: Instant) {
        if per_minute != self.per_minute {
            *self = Self::new(per_minute, now);
        }
    }

    /// Accepts a message, or returns how long to wait, rounded up to whole seconds.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        const MINUTE: Duration = Duration::from_mins(1);
        let each = MINUTE / self.per_minute.get();
        let replenished_at = self.replenished_at.max(now) + each;
        let too_early = replenished_at.saturating_duration_since(now + MINUTE);
        if !too_early.is_zero() {
            let partial_second = u64::from(too_early.subsec_nanos() > 0);
            return Err(Duration::from_secs(too_early.as_secs() + partial_second));
        }
        self.replenished_at = replenished_at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minutes_messages_may_come_at_once_and_further_ones_wait() {
        let now = Instant::now();
        let mut rate = Rate::new(NonZeroU32::new(6).expect("not zero"), now);
        for _ in 0..6 {
            assert_eq!(rate.take(now), Ok(()));
        }
        assert_eq!(rate.take(now), Err(Duration::from_secs(10)));
        let later = now + Duration::from_millis(9_500);
        assert_eq!(rate.take(later), Err(Duration::from_secs(1)));
        let later = now + Duration::from_secs(10);
        assert_eq!(rate.take(later), Ok(()));
        assert_eq!(rate.take(later), Err(Duration::from_secs(10)));
        assert_eq!(rate.take(now + Duration::from_mins(10)), Ok(()));
    }
}
