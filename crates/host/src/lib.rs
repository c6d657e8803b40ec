//! The host library over a transport.
