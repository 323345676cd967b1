//! Recordings of upstream's controllers, played against Aerostat.
