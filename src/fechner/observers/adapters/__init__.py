"""Libraries of models: each module loads a network by name and says what it wants to see."""
