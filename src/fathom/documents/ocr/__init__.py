"""Text that stands on pictures only is read off them, where the extra `ocr` is installed."""
