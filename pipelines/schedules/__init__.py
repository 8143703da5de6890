"""From the ledger to the state at `as_of`, and from there to group priorities and the two schedules."""
