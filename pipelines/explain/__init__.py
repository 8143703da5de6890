"""Why a conversation, a message or a group has its priority and its position."""
