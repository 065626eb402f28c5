"""What a notebook shows: views of runs, comparisons and plans as text and HTML, and a graph as SVG."""
