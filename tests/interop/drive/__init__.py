"""One scenario, played with every agent over our own session API; what came of it is compared with ``expected.toml``."""
