// The kernels whose launches are measured. launch.ptx is made of this by NVRTC for
// compute_75, with the .version and .target of CUDA 11, so that every driver takes it.
extern "C" __global__ void empty(const float* x, float* y, int n) {}

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

// Busy is a block that works for so many cycles of its multiprocessor, and touches nothing.
extern "C" __global__ void busy(long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {
  }
}
