//! What transactions promise, case by case.
