"""Office files: Office Open XML and OpenDocument."""
