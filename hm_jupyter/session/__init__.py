"""The only stateful layer: the loop, the controller, the session a person holds."""
