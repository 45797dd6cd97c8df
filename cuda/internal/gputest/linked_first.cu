// A kernel that calls a function of linked_second.cu.
extern __device__ float next(float a);
extern "C" __global__ void add_one(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = next(a[i]);
}
