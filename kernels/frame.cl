// Copies an uploaded frame into the layout of common.cl and fills the margin with its edge samples.
//
// The thesis adds its border of 16 bytes on the host (6.2.1). Here the device adds the margin, so that
// an upload carries each sample once and nothing else.
//
//   packed  sample (x, y) at byte y * width + x
//   frame   the layout of common.cl; item (i, j) writes 4 samples at byte j * pitch + 4 * i

#include "common.cl"

__kernel void extend(__global const uchar *packed, __global uint *frame, int width, int height,
                     int padded_rows, Geometry g)
{
    const int word = (int)get_global_id(0), row = (int)get_global_id(1);
    if (4 * word >= g.pitch || row >= padded_rows)
        return;
    __global const uchar *line = packed + (size_t)clamp(row - g.top, 0, height - 1) * (size_t)width;
    const int x = 4 * word - g.left, last = width - 1;
    uint samples;
    if (x >= 0 && x + 3 <= last && width % 4 == 0) {
        // Inside a frame whose rows are whole words.
        samples = ((__global const uint *)line)[x / 4];
    } else {
        samples = as_uint((uchar4)(line[clamp(x, 0, last)], line[clamp(x + 1, 0, last)],
                                   line[clamp(x + 2, 0, last)], line[clamp(x + 3, 0, last)]));
    }
    frame[(size_t)row * (size_t)(g.pitch / 4) + (size_t)word] = samples;
}
