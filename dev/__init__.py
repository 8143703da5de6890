"""What the project is developed with, and no user installs: logs that are made up, and benchmarks."""
