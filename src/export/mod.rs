//! What leaves the program: one file a format.
