"""Names written token by token: what a generative linker may write, and how."""
