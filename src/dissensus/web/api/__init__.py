"""JSON API for staff programs, with the same workflows as the pages."""
