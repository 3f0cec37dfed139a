//! Classifies errors of SQLite.

use rusqlite::ErrorCode;

/// Whether the file is at fault, and not the system or the disk.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => {
            // `Unknown` includes a missing table: another program's database.
            matches!(
                code,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown
            )
        }
        None => true,
    }
}

/// Whether a retry would fail again, because the request itself is at fault.
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
