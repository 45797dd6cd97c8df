// Writes to all devices of multicast memory at once, which devices before 9.0 cannot do.
extern "C" __global__ void write_all(float* a, float v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#if __CUDA_ARCH__ >= 900
  if (i < n) asm volatile("multimem.st.relaxed.sys.global.f32 [%0], %1;" ::"l"(a + i), "f"(v) : "memory");
#endif
}
