mod fake;
mod limits;
mod shapes;
