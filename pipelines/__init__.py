"""Conversation priorities for Service Broker, worked out offline from event logs."""
