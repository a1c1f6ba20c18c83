"""Agents that only stream: the other end of the pipe for client_stream."""
