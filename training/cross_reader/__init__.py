"""How the cross-reader is made: data, model, training, measuring, export."""
