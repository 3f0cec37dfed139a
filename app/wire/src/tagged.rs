//! Enums that travel as one flat object each, whose first field says which variant it is.
//!
//! `#[derive(Deserialize)]` with a tag would copy each object into a generic tree before it is read.
//! Our server writes the tag first, so nothing needs to be copied: the rest of the object is read as
//! what the tag says. The browser reads them by `FromJson`, wherever the tag stands.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess};

/// The field that says which variant it is.
const TAG: &str = "callback";

/// Declares an enum of responses. `Error` adds a variant that is an object without a tag, with one
/// field.
///
/// The variants are compiled twice: once to be written with their tag inside, and once to be read as
/// if their tag were outside, which is what [`TagFirst`] makes of it. What serde can't flatten without
/// a copy is read by [`with_field`].
macro_rules! tagged {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident { $($variants:tt)* }
        $(#[$error_attribute:meta])*
        Error = $error:literal
    ) => {
        crate::tagged::tagged! {
            $(#[$attribute])*
            $visibility enum $name {
                $($variants)*
            } {
                $(#[$error_attribute])*
                #[serde(untagged)]
                Error {
                    /// What went wrong, with its causes.
                    #[serde(rename = $error)]
                    message: String,
                },
            } {
                #[serde(rename = $error, deserialize_with = "serde::Deserialize::deserialize")]
                Error { message: String },
            }
            $error
        }
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident { $($variants:tt)* }
    ) => {
        crate::tagged::tagged! {
            $(#[$attribute])*
            $visibility enum $name { $($variants)* } {} {} ""
        }
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident
        { $($variants:tt)* } { $($written:tt)* } { $($read:tt)* } $error:literal
    ) => {
        $(#[$attribute])*
        #[derive(serde::Serialize, crate::json::FromJson)]
        #[serde(tag = "callback", rename_all = "camelCase", rename_all_fields = "camelCase")]
        $visibility enum $name {
            $($variants)*
            $($written)*
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                type Target = $name;

                #[derive(serde::Deserialize)]
                #[serde(
                    remote = "Target",
                    rename_all = "camelCase",
                    rename_all_fields = "camelCase"
                )]
                #[allow(dead_code, reason = "only its derived function is used")]
                enum Read {
                    $($variants)*
                    $($read)*
                }

                Read::deserialize(crate::tagged::TagFirst { source, error: $error })
            }
        }
    };
}
pub(crate) use tagged;

/// Reads an object as an enum whose variants are named outside of it.
pub(crate) struct TagFirst<D> {
    pub(crate) source: D,
    /// The only field of an error, and the name of its variant.
    pub(crate) error: &'static str,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for TagFirst<D> {
    type Error = D::Error;

    fn deserialize_any<V: de::Visitor<'de>>(self, _: V) -> Result<V::Value, D::Error> {
        Err(de::Error::custom("only enums have a tag"))
    }

    fn deserialize_enum<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.source.deserialize_map(Object { visitor, error: self.error })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Object<V> {
    visitor: V,
    error: &'static str,
}

impl<'de, V: de::Visitor<'de>> de::Visitor<'de> for Object<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object that begins with {TAG} or {}", self.error)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Start { map, error: self.error })
    }
}

/// An object of which nothing was read yet.
struct Start<A> {
    map: A,
    error: &'static str,
}

impl<'de, A: MapAccess<'de>> de::EnumAccess<'de> for Start<A> {
    type Error = A::Error;
    type Variant = Rest<A>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        mut self,
        seed: S,
    ) -> Result<(S::Value, Rest<A>), A::Error> {
        let first: Option<String> = self.map.next_key()?;
        let is_tagged = first.as_deref() == Some(TAG);
        let variant = if is_tagged {
            self.map.next_value_seed(seed)?
        } else if first.as_deref() == Some(self.error) {
            seed.deserialize(self.error.into_deserializer())?
        } else {
            return Err(de::Error::missing_field(TAG));
        };
        Ok((variant, Rest { map: self.map, is_tagged }))
    }
}

/// An object of which only the tag, or the name of the error's field, was read.
struct Rest<A> {
    map: A,
    is_tagged: bool,
}

impl<'de, A: MapAccess<'de>> de::VariantAccess<'de> for Rest<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.newtype_variant_seed(PhantomData::<IgnoredAny>).map(drop)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        mut self,
        seed: S,
    ) -> Result<S::Value, A::Error> {
        if self.is_tagged {
            return seed.deserialize(MapAccessDeserializer::new(self.map));
        }
        let value = self.map.next_value_seed(seed)?;
        while self.map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(value)
    }

    fn tuple_variant<V: de::Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.struct_variant(&[], visitor)
    }

    fn struct_variant<V: de::Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.map)
    }
}

/// Reads a struct, and one more field that stands among its own.
pub(crate) fn with_field<'de, F, T, D>(name: &'static str, source: D) -> Result<(F, T), D::Error>
where
    F: de::Deserialize<'de>,
    T: de::Deserialize<'de>,
    D: Deserializer<'de>,
{
    source.deserialize_map(Both { name, read: PhantomData })
}

struct Both<F, T> {
    name: &'static str,
    read: PhantomData<(F, T)>,
}

impl<'de, F: de::Deserialize<'de>, T: de::Deserialize<'de>> de::Visitor<'de> for Both<F, T> {
    type Value = (F, T);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with {}", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(F, T), A::Error> {
        let mut field = None;
        let others = Others { map, name: self.name, field: &mut field };
        let read = T::deserialize(MapAccessDeserializer::new(others))?;
        Ok((field.ok_or_else(|| de::Error::missing_field(self.name))?, read))
    }
}

/// The fields of an object without the one that is set aside.
struct Others<'a, A, F> {
    map: A,
    name: &'static str,
    field: &'a mut Option<F>,
}

impl<'de, A: MapAccess<'de>, F: de::Deserialize<'de>> MapAccess<'de> for Others<'_, A, F> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if key != self.name {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            *self.field = Some(self.map.next_value()?);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{self, FromJson};

    tagged! {
        #[derive(Debug, PartialEq)]
        enum Sign {
            Green,
            Speed {
                per_hour: u32,
                until: Option<String>,
            },
            #[serde(rename = "goTo", deserialize_with = "read_place")]
            Place {
                name: String,
                #[serde(flatten)]
                point: Point,
            },
        }

        Error = "noSign"
    }

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, FromJson)]
    struct Point {
        x: u32,
        y: u32,
    }

    fn read_place<'de, D: Deserializer<'de>>(source: D) -> Result<(String, Point), D::Error> {
        with_field("name", source)
    }

    #[test]
    fn the_first_field_says_what_the_others_are() {
        let place = || Sign::Place { name: "a".to_owned(), point: Point { x: 1, y: 2 } };
        for (json, sign) in [
            (r#"{"callback":"green"}"#, Sign::Green),
            (r#"{"callback":"green","more":{"x":[]}}"#, Sign::Green),
            (
                r#"{"callback":"speed","more":1,"perHour":50}"#,
                Sign::Speed { per_hour: 50, until: None },
            ),
            (r#"{"callback":"goTo","name":"a","x":1,"y":2}"#, place()),
            (r#"{"callback":"goTo","y":2,"more":[],"x":1,"name":"a"}"#, place()),
            (r#"{"noSign":"e","more":1}"#, Sign::Error { message: "e".to_owned() }),
        ] {
            assert_eq!(json::from_str::<Sign>(json).expect(json), sign);
            assert_eq!(serde_json::from_str::<Sign>(json).expect(json), sign);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for json in [
            "{}",
            "[]",
            "\"green\"",
            r#"{"green":1}"#,
            r#"{"goTo":{"name":"a","x":1,"y":2}}"#,
            r#"{"callback":"red"}"#,
            r#"{"callback":"Green"}"#,
            r#"{"callback":"noSign"}"#,
            r#"{"callback":"speed"}"#,
            r#"{"perHour":50,"callback":"speed"}"#,
            r#"{"callback":"goTo","x":1,"y":2}"#,
            r#"{"callback":"goTo","name":"a","x":1}"#,
            r#"{"noSign":1}"#,
        ] {
            assert!(serde_json::from_str::<Sign>(json).is_err(), "{json}");
        }
    }
}
