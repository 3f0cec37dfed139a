//! Budgets of tasks and jobs.

use std::num::{NonZeroU32, NonZeroU64};

use super::{Node, Number, Path, Read, Reader, Value};
use crate::{Amount, Budget};

/// The largest number that JSON readers of all languages read exactly.
const MOST_TOKENS: u64 = (1 << 53) - 1;

impl<'t> Reader<'t> {
    pub(super) fn budget(&mut self, node: &'t Node, path: &Path) -> Read<Budget> {
        let object = self.object(node, path, &["minutes", "turns", "tokens", "cost"])?;
        let minutes = self.optional(&object, path, "minutes", Self::amount);
        let turns = self.optional(&object, path, "turns", |reader, node, path| {
            let turns = reader.whole(node, path, u32::MAX.into())?;
            Ok(NonZeroU32::try_from(turns).expect("within the maximum"))
        });
        let tokens = self.optional(&object, path, "tokens", |reader, node, path| {
            reader.whole(node, path, MOST_TOKENS)
        });
        let cost = self.optional(&object, path, "cost", Self::amount);
        Ok(Budget { minutes: minutes?, turns: turns?, tokens: tokens?, cost: cost? })
    }

    fn amount(&mut self, node: &'t Node, path: &Path) -> Read<Amount> {
        let Value::Number(number) = node.value else {
            return self.wrong_type(node, path, "a number");
        };
        let number = match number {
            Number::Negative => -1.0,
            #[expect(clippy::cast_precision_loss, reason = "nobody allows that much")]
            Number::Unsigned(number) => number as f64,
            Number::Float(number) => number,
        };
        match Amount::try_from(number) {
            Ok(amount) => Ok(amount),
            Err(_) => self.report(node.ordinal, path, "Must be greater than 0."),
        }
    }

    fn whole(&mut self, node: &'t Node, path: &Path, most: u64) -> Read<NonZeroU64> {
        let Value::Number(number) = node.value else {
            return self.wrong_type(node, path, "a number");
        };
        let number = match number {
            Number::Float(number) if number.fract() != 0.0 => {
                return self.report(node.ordinal, path, "Must be a whole number.");
            }
            Number::Negative => 0,
            Number::Unsigned(number) => number,
            #[expect(clippy::cast_possible_truncation, reason = "whole; too large is reported")]
            #[expect(clippy::cast_sign_loss, reason = "negative ones become 0, which is reported")]
            Number::Float(number) => number as u64,
        };
        match NonZeroU64::new(number) {
            Some(number) if number.get() <= most => Ok(number),
            Some(_) => self.report(node.ordinal, path, format!("Must be at most {most}.")),
            None => self.report(node.ordinal, path, "Must be at least 1."),
        }
    }
}
