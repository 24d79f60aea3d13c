"""The making of the cross-reader: data, model, training, measuring, export."""
