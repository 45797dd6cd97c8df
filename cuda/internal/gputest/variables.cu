// Variables of each kind: with and without a value, of the device and constant, and one without a name for other files.
__device__ int counter = 7;
__device__ float zeros[32];
__constant__ float table[4] = {1, 2, 3, 4};
__constant__ int none[3];
static __device__ short own[2] = {5, 6};

// Uses all of them, so that none is left out.
extern "C" __global__ void use_variables(float* x, int i) {
  x[0] = counter + zeros[i] + table[i] + none[i] + own[i];
  own[i] = 0;
}
