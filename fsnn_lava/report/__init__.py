"""The page that shows a verdict."""
