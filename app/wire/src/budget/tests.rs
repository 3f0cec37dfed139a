use serde_json::{Value, json};

use super::*;

fn budget(json: &Value) -> Budget {
    Budget::deserialize(json).expect("a budget")
}

#[test]
fn a_budget_is_spelt_as_people_write_it() {
    for text in [
        "{}",
        r#"{"minutes":30,"turns":5,"tokens":100000,"cost":2}"#,
        r#"{"minutes":0.5,"cost":0.25}"#,
    ] {
        let read: Budget = serde_json::from_str(text).expect(text);
        assert_eq!(serde_json::to_string(&read).expect("json"), text);
    }
    assert_eq!(budget(&json!({ "turns": null, "cost": null })), Budget::default());
}

#[test]
fn what_allows_nothing_is_refused() {
    for (wrong, reason) in [
        (json!({ "minutes": 0 }), "must be greater than 0"),
        (json!({ "cost": -1 }), "must be greater than 0"),
        (json!({ "turns": 0 }), "nonzero"),
        (json!({ "turns": 1.5 }), "1.5"),
        (json!({ "tokens": -1 }), "-1"),
        (json!({ "tokens": "5" }), "\"5\""),
        (json!({ "hours": 1 }), "unknown field `hours`"),
        (json!([5]), "expected the limits of a budget by name"),
        (json!(null), "expected the limits of a budget by name"),
    ] {
        let error = Budget::deserialize(&wrong).expect_err("no budget").to_string();
        assert!(error.contains(reason), "{wrong}: {error}");
    }
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0] {
        assert_eq!(Amount::try_from(number), Err(NotAnAmount), "{number}");
    }
}

#[test]
fn own_limits_replace_the_defaults_and_narrowing_takes_the_stricter_ones() {
    let own = budget(&json!({ "minutes": 5, "turns": 9 }));
    let other = budget(&json!({ "minutes": 3, "turns": 10, "tokens": 100, "cost": 1 }));
    assert_eq!(
        own.or(other),
        budget(&json!({ "minutes": 5, "turns": 9, "tokens": 100, "cost": 1 }))
    );
    let stricter = budget(&json!({ "minutes": 3, "turns": 9, "tokens": 100, "cost": 1 }));
    assert_eq!(own.narrowed_by(other), stricter);
    assert_eq!(other.narrowed_by(own), stricter);
    assert_eq!(own.narrowed_by(Budget::default()), own);
}

#[test]
fn a_limit_is_reached_when_as_much_is_used_as_it_allows() {
    let all = budget(&json!({ "minutes": 2, "turns": 3, "tokens": 100, "cost": 1.5 }));
    let almost = Spent { minutes: 1.99, turns: 2, tokens: 99, cost: 1.49 };
    assert_eq!(all.reached(&almost), None);
    for (spent, sentence) in [
        (Spent { minutes: 2.004, ..almost }, "the budget is used up: 2 of 2 minutes"),
        (Spent { turns: 3, ..almost }, "the budget is used up: 3 of 3 turns"),
        (Spent { tokens: 120, ..almost }, "the budget is used up: 120 of 100 tokens"),
        (Spent { cost: 1.751, ..almost }, "the budget is used up: 1.75 of 1.5 cost"),
    ] {
        let reached = all.reached(&spent).expect("reached");
        assert_eq!(reached.to_string(), sentence);
        assert_eq!(Budget::default().reached(&spent), None);
    }
}

#[test]
fn a_raised_limit_leaves_something() {
    use BudgetLimit::{Cost, Minutes, Tokens, Turns};
    let first = budget(&json!({ "minutes": 0.5, "turns": 3, "tokens": 100, "cost": 2 }));
    let used = |minutes, turns, tokens, cost| Spent { minutes, turns, tokens, cost };
    for (limit, spent, raised) in [
        (Minutes, used(0.5, 0, 0, 0.0), json!({ "minutes": 1 })),
        (Minutes, used(2.25, 0, 0, 0.0), json!({ "minutes": 2.5 })),
        (Turns, used(0.0, 3, 0, 0.0), json!({ "turns": 6 })),
        (Tokens, used(0.0, 0, 250, 0.0), json!({ "tokens": 300 })),
        (Tokens, used(0.0, 0, 300, 0.0), json!({ "tokens": 400 })),
        (Cost, used(0.0, 0, 0, 2.0), json!({ "cost": 4 })),
    ] {
        let raised = budget(&raised).or(first);
        assert_eq!(first.raised(limit, &first, &spent), raised, "{limit:?} {spent:?}");
        assert_eq!(raised.reached_limit(limit, &spent), None);
    }
    // The second time it grows by as much as the first time.
    let twice = first.raised(Turns, &first, &used(0.0, 3, 0, 0.0));
    let twice = twice.raised(Turns, &first, &used(0.0, 6, 0, 0.0));
    assert_eq!(twice.turns.map(NonZeroU32::get), Some(9));
    let most = budget(&json!({ "tokens": u64::MAX }));
    assert_eq!(most.raised(Tokens, &most, &used(0.0, 0, u64::MAX, 0.0)), most);
}

#[test]
fn tokens_read_and_written_count() {
    let usage = Usage { input_tokens: 5, output_tokens: 7, cost: Some(0.5), ..Usage::default() };
    let mut spent = Spent { turns: 1, ..Spent::from(usage) };
    spent += spent;
    assert_eq!(spent, Spent { minutes: 0.0, turns: 2, tokens: 24, cost: 1.0 });
    let json = r#"{"minutes":0.0,"turns":2,"tokens":24,"cost":1.0}"#;
    assert_eq!(serde_json::to_string(&spent).expect("json"), json);
}
