//! What is measured of a lane's answers, the same for every layer: recall, error, cosine.
//!
//! The engine appends these channels to the layer's own, so that panels and exporters treat them alike.
