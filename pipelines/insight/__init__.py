"""What the tables tell beyond themselves: who waits, who is overtaken, which rules matter, and why."""
