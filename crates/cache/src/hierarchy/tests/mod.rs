mod random;
mod reference;
