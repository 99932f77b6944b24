"""Lists and reports of staff: figures by which lists are sorted, queries of lists, and stored reports."""
