//! Signatures that tests make themselves, in both forms.
