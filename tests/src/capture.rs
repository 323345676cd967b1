//! Servers that write down what reaches them.
