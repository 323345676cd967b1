//! The provider behind a real Keystone: attacks, projects that know nothing of each other, and what is wrong with logins, the catalogue and answers.

mod answers;
mod attacks;
mod place;
mod projects;
mod refusals;
mod replicas;
mod settled;
