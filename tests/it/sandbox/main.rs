//! The sandbox against guests that behave badly.
