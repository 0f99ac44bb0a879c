//! Tests of the crate through its interface, with an exchange that counts what is read of it.

mod agreement;
mod compile_errors;
mod documentation;
mod documents;
mod exchange;
mod functions;
mod hostile;
mod name_errors;
mod operators;
mod phases;
mod random;
mod reads;
mod timing;
mod type_errors;
mod variables;
