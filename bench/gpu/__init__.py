"""What bench/compare_gpu.py compares: operators, and who computes them."""
