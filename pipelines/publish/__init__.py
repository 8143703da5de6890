"""What must hold before a run is published."""
