// The kernels of the tests. The fake driver does what their names say; a GPU runs their code.
extern "C" __global__ void add_one(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] + 1;
}
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void crash() { *(volatile int*)8 = 1; }
extern "C" __global__ void misaligned(float* a) { *(volatile int*)((char*)a + 1) = 1; }
