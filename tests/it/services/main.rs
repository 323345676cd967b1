//! The service-lb-controller against a real API server: cases 12.6 to 12.8.
