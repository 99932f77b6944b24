"""What people do on the platform, step by step: load, decide, save, in one transaction each."""
