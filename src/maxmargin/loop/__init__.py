"""The loop: clock, certificates, stopping, checkpoints, interrupts."""
