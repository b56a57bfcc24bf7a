"""What is known about the corpus: sources and their versions, companies, fiscal periods, lifecycle and access."""
