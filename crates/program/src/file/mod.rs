//! stub
/// stub
#[derive(Debug, thiserror::Error)]
#[error("stub")]
pub struct ReadError;
/// stub
#[derive(Debug, thiserror::Error)]
#[error("stub")]
pub struct WriteError;
