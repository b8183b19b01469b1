"""Review projects: documents, what a linker said of their mentions, who decided what and when; what follows of it."""
