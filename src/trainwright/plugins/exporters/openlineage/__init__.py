"""OpenLineage: run events, to a file or over HTTP."""
