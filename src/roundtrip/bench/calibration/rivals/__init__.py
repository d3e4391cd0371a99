"""Other detectors of steps, on the same series as the package's own: who finds more at one rate?"""
