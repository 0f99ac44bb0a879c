//! Tests of callbacks: from providers to the gateway, and from the gateway to callers.

mod deliveries;
