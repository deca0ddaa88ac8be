//! The befit command
