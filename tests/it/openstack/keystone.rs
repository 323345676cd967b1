//! The provider behind a real Keystone: attacks, projects that know nothing of each other, and what is wrong with logins and annotations.

mod answers;
mod attacks;
mod place;
mod projects;
mod replicas;
mod settled;
