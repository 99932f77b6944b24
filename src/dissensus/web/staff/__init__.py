"""Routes by who uses them: parse, authorise, one workflow, render."""
