//! The domain of the portal. It knows neither HTTP nor pages: `server` calls it, tests call it.

pub mod lifecycle;
pub mod workspace;
