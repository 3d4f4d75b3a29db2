"""Models of early vision: four that the decalogue of Vila-Tomás et al. (2026) was written with."""
