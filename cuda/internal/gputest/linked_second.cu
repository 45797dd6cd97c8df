// The function that the kernel of linked_first.cu calls.
__device__ float next(float a) { return a + 1; }
