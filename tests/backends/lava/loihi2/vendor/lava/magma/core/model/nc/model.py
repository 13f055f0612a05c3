class AbstractNcProcessModel:
    """Marks a model for the neuro cores."""
