"""The pictures of a report, as Vega-Lite specifications."""
