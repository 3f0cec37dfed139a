//! How the types of the standard library are read.
//!
//! Lists and maps are filled one by one: what collects them all at once is much more code for each
//! type.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use super::document::Kind;
use super::{FromJson, Value};
use crate::number::parse_number;

impl FromJson for String {
    fn from_json(value: Value<'_>) -> Self {
        value.text().into_owned()
    }
}

impl FromJson for bool {
    fn from_json(value: Value<'_>) -> Self {
        let kind = value.node().kind;
        if !matches!(kind, Kind::True | Kind::False) {
            value.fail("true or false");
        }
        kind == Kind::True
    }
}

impl FromJson for f64 {
    fn from_json(value: Value<'_>) -> Self {
        parse_number(value.digits()).unwrap_or_else(|| {
            value.fail("a number");
            0.0
        })
    }
}

/// Whole numbers, each with the one that stands for those that could not be read.
macro_rules! whole_numbers {
    ($($type:ty = $other:expr),*) => {$(
        impl FromJson for $type {
            fn from_json(value: Value<'_>) -> Self {
                value.digits().parse().unwrap_or_else(|_| {
                    value.fail("a whole number within its limits");
                    $other
                })
            }
        }
    )*};
}

whole_numbers!(u32 = 0, u64 = 0, usize = 0, NonZeroU32 = Self::MIN, NonZeroU64 = Self::MIN);

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value<'_>) -> Self {
        if value.is_nothing() { None } else { Some(T::from_json(value)) }
    }
}

impl<T: FromJson> FromJson for Box<T> {
    fn from_json(value: Value<'_>) -> Self {
        Self::new(T::from_json(value))
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value<'_>) -> Self {
        let mut items = Self::new();
        for item in value.items() {
            items.push(T::from_json(item));
        }
        items
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: Value<'_>) -> Self {
        value.expect_object();
        let mut fields = Self::new();
        for (name, value) in value.fields() {
            fields.insert(name.into_owned(), T::from_json(value));
        }
        fields
    }
}
