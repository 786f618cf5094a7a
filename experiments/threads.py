"""One thread for linear algebra: matrices here are small, and threads that wait for each other cost
five times the processor time where other programs run.
"""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
