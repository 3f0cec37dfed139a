use super::*;
#[derive(Debug)]
pub enum ParseError {
    NotJson(String),
    Invalid(String),
}
impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}
impl Entry {
    pub fn parse(_: &str) -> Result<Self, ParseError> {
        Err(ParseError::Invalid(String::new()))
    }
    pub fn resolve_model<'a>(&'a self, _: &'a Task, _: Option<&'a Model>) -> &'a str {
        ""
    }
    pub fn model_ids(&self) -> impl Iterator<Item = (String, &str)> {
        std::iter::empty()
    }
}
