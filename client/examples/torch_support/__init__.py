"""What the two torch_pipeline programs share: everything that the step to stagewire leaves alone."""
