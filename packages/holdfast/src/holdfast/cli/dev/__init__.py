"""`holdfast dev`: everything on a laptop, in one folder."""
