use super::prelude::*;

fn owned(test: impl FnOnce()) {
    let owner = Owner::new();
    owner.with(test);
}

#[test]
fn what_is_set_is_read() {
    owned(|| {
        let count = RwSignal::new(1);
        count.set(2);
        count.update(|count| *count += 1);
        assert_eq!((count.get(), count.get_untracked()), (3, 3));
        assert_eq!(count.try_update(|count| std::mem::replace(count, 9)), Some(3));
        assert_eq!(count.with(|count| count + 1), 10);
        let shared = ArcRwSignal::new(String::from("a"));
        let same = RwSignal::from(shared.clone());
        shared.update(|text| text.push('b'));
        assert_eq!(same.get(), "ab");
    });
}

#[test]
fn a_memo_follows_and_knows_what_it_was() {
    owned(|| {
        let count = RwSignal::new(1);
        let most = Memo::new(move |before: Option<&i32>| {
            count.get().max(before.copied().unwrap_or_default())
        });
        assert_eq!(most.get(), 1);
        count.set(5);
        assert_eq!(most.get(), 5);
        count.set(2);
        assert_eq!(most.get(), 5);
    });
}

#[test]
fn a_memo_that_stays_the_same_computes_nothing_that_follows_it() {
    owned(|| {
        let count = RwSignal::new(1);
        let computed = StoredValue::new(0);
        let is_odd = Memo::new(move |_| count.get() % 2 == 1);
        let word = Memo::new(move |_| {
            computed.update_value(|times| *times += 1);
            if is_odd.get() { "odd" } else { "even" }
        });
        assert_eq!(word.get(), "odd");
        count.set(3);
        assert_eq!((word.get(), computed.get_value()), ("odd", 1));
        count.set(4);
        assert_eq!((word.get(), computed.get_value()), ("even", 2));
    });
}

#[test]
fn a_signal_is_whatever_it_was_made_of() {
    owned(|| {
        let count = RwSignal::new(1);
        let double = Memo::new(move |_| count.get() * 2);
        let signals: [Signal<i32>; 4] = [
            count.into(),
            double.into(),
            Signal::derive(move || count.get() * 3),
            Signal::stored(7),
        ];
        assert_eq!(signals.map(|signal| signal.get()), [1, 2, 3, 7]);
        count.set(2);
        assert_eq!(signals.map(|signal| signal.get_untracked()), [2, 4, 6, 7]);
    });
}

#[test]
fn what_was_disposed_says_so() {
    let owner = Owner::new();
    let (count, stored, call) =
        owner.with(|| (RwSignal::new(1), StoredValue::new(2), Callback::new(|add: i32| add + 1)));
    assert_eq!(call.run(1), 2);
    assert_eq!((count.try_set(3), stored.try_set_value(4)), (None, None));
    owner.cleanup();
    assert!(count.is_disposed() && stored.is_disposed());
    assert_eq!((count.try_set(5), stored.try_set_value(6)), (Some(5), Some(6)));
    assert_eq!((count.try_get_untracked(), stored.try_get_value()), (None, None));
}
