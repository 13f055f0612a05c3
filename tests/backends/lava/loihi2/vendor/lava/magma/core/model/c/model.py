class CLoihiProcessModel:
    """Name only: lava-nc's run configurations ask for it."""
