"""What receives and sends really did, beside what the levels asked for."""
