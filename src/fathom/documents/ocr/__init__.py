"""Recognition of text on pictures, if the extra `ocr` is installed."""
