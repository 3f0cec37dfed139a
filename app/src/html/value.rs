//! Values of attributes, classes and properties.

use std::borrow::Cow;

use crate::reactive::prelude::*;

/// Text, or nothing.
pub(crate) type Text = Option<Cow<'static, str>>;

/// A value that may change.
pub(crate) enum Value {
    Fixed(Text),
    Live(Box<dyn Compute>),
}

/// What computes a value.
pub(crate) trait Compute: Send {
    fn compute(&mut self) -> Text;
}

struct Computing<F>(F);

impl<F: FnMut() -> T + Send, T: IntoText> Compute for Computing<F> {
    fn compute(&mut self) -> Text {
        (self.0)().into_text()
    }
}

/// What is a text, or nothing: true is present and empty, false is absent.
pub(crate) trait IntoText {
    fn into_text(self) -> Text;
}

/// What can be a value: texts, flags, whole numbers, options, and closures and signals of these.
pub(crate) trait IntoValue {
    fn into_value(self) -> Value;
}

/// Types that are texts are also values.
macro_rules! texts {
    ($($type:ty: $value:ident => $text:expr;)*) => {$(
        impl IntoText for $type {
            fn into_text(self) -> Text {
                let $value = self;
                $text
            }
        }

        impl IntoValue for $type {
            fn into_value(self) -> Value {
                Value::Fixed(self.into_text())
            }
        }
    )*};
}

texts! {
    &'static str: text => Some(text.into());
    String: text => Some(text.into());
    Cow<'static, str>: text => Some(text);
    bool: flag => flag.then_some(Cow::Borrowed(""));
    i32: number => Some(number.to_string().into());
    u32: number => Some(number.to_string().into());
    usize: number => Some(number.to_string().into());
}

impl<T: IntoText> IntoText for Option<T> {
    fn into_text(self) -> Text {
        self.and_then(T::into_text)
    }
}

impl<T: IntoText> IntoValue for Option<T> {
    fn into_value(self) -> Value {
        Value::Fixed(self.into_text())
    }
}

impl<F, T> IntoValue for F
where
    F: FnMut() -> T + Send + 'static,
    T: IntoText,
{
    fn into_value(self) -> Value {
        Value::Live(Box::new(Computing(self)))
    }
}

/// Signals are closures that read them.
macro_rules! signals {
    ($($signal:ident),*) => {$(
        impl<T: IntoText + Clone + Send + Sync + 'static> IntoValue for $signal<T> {
            fn into_value(self) -> Value {
                (move || self.get()).into_value()
            }
        }
    )*};
}

signals!(Memo, RwSignal, Signal);
