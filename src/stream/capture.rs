//! Captures: queries, keys and values of a real model, from safetensors.
