"""Quality metrics: how different two pictures, or two videos, are said to look."""
