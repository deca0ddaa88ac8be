mod machines;
mod random;
mod reference;
mod regressions;
mod traces;
