// The kernels for conditional nodes. They are apart from the others because a driver before CUDA 12.3 does not load them:
// the function that they call is one of the driver. The fake driver does what their names say.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

extern "C" __global__ void set_conditional(unsigned long long handle, unsigned int value) { cudaGraphSetConditional(handle, value); }
extern "C" __global__ void count_down(unsigned long long handle, int* n) { cudaGraphSetConditional(handle, --*n > 0); }
extern "C" __global__ void add_to(int* n, int v) { *n += v; }
