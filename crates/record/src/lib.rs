//! Records an instrumented run as a befit Program
