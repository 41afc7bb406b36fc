//! What the extender and the clearer are told.
