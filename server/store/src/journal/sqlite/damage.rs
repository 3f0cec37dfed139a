//! What an error of SQLite means.

use rusqlite::ErrorCode;

/// Whether the file is at fault, and not the system or the disk.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => {
            // A missing table: somebody else's database.
            matches!(
                code,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown
            )
        }
        None => true,
    }
}

/// Whether trying again would end in the same way, because what was asked for is at fault.
pub(super) fn is_lasting(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => matches!(
            code,
            ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::TooBig
                | ErrorCode::ParameterOutOfRange
                | ErrorCode::ApiMisuse
        ),
        None => true,
    }
}
