//! Limits connections. They cost file handles and memory, and strangers must not take those of the
//! owner.
//!
//! ```text
//!  accept ─► Places::admit ─► Place (a stranger) ─ shows the key ─► known: nobody takes its place
//!                 │                    ▲
//!                 └── no place left ───┘ evicts the stranger that has been there for longest
//! ```
//!
//! A new connection displaces the oldest stranger: an honest client presents its key at once. So
//! clients that connect and wait are only in each other's way.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// How many connections are accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections of all addresses together.
    all: usize,
    /// Connections of one address.
    per_address: usize,
    /// Connections that have not presented the key yet.
    strangers: usize,
    /// The same for one address.
    strangers_per_address: usize,
}

impl Limits {
    /// As many as there are file handles, minus what the rest of the server needs.
    pub(super) fn for_files(files: u64) -> Self {
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        let all = (files - (files / 4).min(256)).clamp(1, 60_000);
        Self {
            all,
            per_address: 2048.min(all),
            strangers: 256.min(all / 2).max(1),
            strangers_per_address: 64.min(all / 4).max(1),
        }
    }
}

/// All places of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Places {
    limits: Limits,
    /// Whether there is a key. If so, clients that have not presented it are strangers.
    locked: bool,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    next: u64,
    per_address: HashMap<IpAddr, usize>,
    /// By order of arrival, the oldest first.
    strangers: BTreeMap<u64, Stranger>,
}

#[derive(Debug)]
struct Stranger {
    address: IpAddr,
    evicted: Arc<Notify>,
}

/// The place of one connection. Dropping it frees it.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    number: u64,
    address: IpAddr,
    evicted: Arc<Notify>,
    known: AtomicBool,
}

impl Places {
    pub(super) fn new(limits: Limits, locked: bool) -> Self {
        Self { limits, locked, taken: Arc::default() }
    }

    /// A place for a connection from this address; `None` if there is none.
    pub(super) fn admit(&self, address: IpAddr) -> Option<Arc<Place>> {
        let address = neighbourhood(address);
        let evicted = Arc::new(Notify::new());
        let mut taken = self.lock();
        if self.locked {
            let from_there = taken.per_address.get(&address).copied().unwrap_or_default();
            let strangers = taken.strangers.values().filter(|one| one.address == address).count();
            let full = from_there >= self.limits.per_address;
            let evicts_one = strangers >= self.limits.strangers_per_address || full;
            if evicts_one && !taken.evict(Some(address)) && full {
                return None;
            }
            if taken.strangers.len() >= self.limits.strangers {
                taken.evict(None);
            }
        }
        if taken.all >= self.limits.all && !taken.evict(None) {
            return None;
        }
        let number = taken.next;
        taken.next += 1;
        taken.all += 1;
        *taken.per_address.entry(address).or_default() += 1;
        if self.locked {
            taken.strangers.insert(number, Stranger { address, evicted: evicted.clone() });
        }
        drop(taken);
        let known = AtomicBool::new(!self.locked);
        Some(Arc::new(Place { places: self.clone(), number, address, evicted, known }))
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Disconnects the oldest stranger, of this address or of any. Returns false if there is none.
    fn evict(&mut self, of: Option<IpAddr>) -> bool {
        let mut strangers = self.strangers.iter();
        let oldest = strangers.find(|(_, one)| of.is_none_or(|address| one.address == address));
        let Some(number) = oldest.map(|(number, _)| *number) else { return false };
        if let Some(stranger) = self.strangers.remove(&number) {
            stranger.evicted.notify_one();
        }
        true
    }
}

impl Place {
    /// Called once the client of this connection has presented the key.
    pub(super) fn recognise(&self) {
        if !self.known.swap(true, Ordering::Relaxed) {
            self.places.lock().strangers.remove(&self.number);
        }
    }

    /// Waits until the place is needed for another connection.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.all -= 1;
        taken.strangers.remove(&self.number);
        if let Some(count) = taken.per_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.per_address.remove(&self.address);
            }
        }
    }
}

/// What counts as one address: an owner of an IPv6 address has a whole network of them.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LIMITS: Limits =
        Limits { all: 8, per_address: 6, strangers: 4, strangers_per_address: 2 };

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn is_evicted(place: &Place) -> bool {
        place.evicted().now_or_never().is_some()
    }

    #[test]
    fn the_oldest_stranger_of_an_address_makes_room() {
        let places = Places::new(LIMITS, true);
        let admit = |from| places.admit(address(from)).expect("a place");
        let other = admit("10.0.0.2");
        let [first, second, third] = ["10.0.0.1"; 3].map(admit);
        assert!(is_evicted(&first));
        assert!(!is_evicted(&second) && !is_evicted(&third) && !is_evicted(&other));
    }

    #[test]
    fn strangers_from_everywhere_leave_places_to_the_known() {
        let places = Places::new(Limits { all: 100, ..LIMITS }, true);
        let known = places.admit(address("10.0.0.9")).expect("a place");
        known.recognise();
        let crowd: Vec<_> =
            (1..=20).map(|last| places.admit(address(&format!("10.0.1.{last}")))).collect();
        assert!(crowd.iter().all(Option::is_some), "each is let in, for a while");
        let left = crowd.iter().flatten().filter(|place| !is_evicted(place)).count();
        assert_eq!(left, 4);
        assert!(!is_evicted(&known));
    }

    #[test]
    fn who_is_known_is_limited_by_address_and_in_all() {
        let places = Places::new(LIMITS, true);
        let mut kept = Vec::new();
        for _ in 0..6 {
            let place = places.admit(address("10.0.0.1")).expect("a place");
            place.recognise();
            kept.push(place);
        }
        assert!(places.admit(address("10.0.0.1")).is_none());
        for _ in 0..2 {
            let place = places.admit(address("10.0.0.2")).expect("a place");
            place.recognise();
            kept.push(place);
        }
        assert!(places.admit(address("10.0.0.3")).is_none());
        kept.clear();
        assert!(places.admit(address("10.0.0.3")).is_some(), "places become free");
    }

    #[test]
    fn without_a_key_only_the_sum_counts() {
        let places = Places::new(LIMITS, false);
        let kept: Vec<_> = (0..9).map(|_| places.admit(address("127.0.0.1"))).collect();
        assert_eq!(kept.iter().flatten().count(), 8);
        assert!(kept.iter().flatten().all(|place| !is_evicted(place)));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        assert_eq!(neighbourhood(address("2001:db8::1")), neighbourhood(address("2001:db8::2:3")));
        assert_ne!(
            neighbourhood(address("2001:db8:0:1::1")),
            neighbourhood(address("2001:db8::1"))
        );
        assert_eq!(neighbourhood(address("::ffff:10.0.0.1")), address("10.0.0.1"));
    }

    #[test]
    fn few_file_handles_leave_room_for_both() {
        for files in [1, 10, 256, 1024, u64::MAX] {
            let limits = Limits::for_files(files);
            assert!(limits.all >= 1 && limits.strangers >= 1, "{files}: {limits:?}");
            assert!(files < 10 || limits.strangers < limits.all, "{files}: {limits:?}");
        }
    }
}
