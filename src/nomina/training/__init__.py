"""Training: losses, examples, noise, and one loop that saves, resumes and tells how it goes."""
