// The frame that is searched in place of a larger one: the eight bits of its luma that are searched, at half the size as often
// as it takes.
//
// The oracle, interpolation/oracle.rs, defines it. The host launches:
//
//   narrow_luma   for deep samples, and where nothing is halved
//   halve_luma    for each halving
//
// Both write rows without padding.

#include "common.cl"
#include "points.cl"

// An item writes a sample.
__kernel void narrow_luma(__global const raw_t *luma, int pitch, __global uchar *narrow, int width, int height)
{
    const int x = (int)get_global_id(0), y = (int)get_global_id(1);
    if (x >= width || y >= height)
        return;
    narrow[(size_t)y * (size_t)width + (size_t)x] = (uchar)eight_bits(luma[(size_t)y * (size_t)pitch + (size_t)x]);
}

// The means of 2 x 2 samples; at the right and lower edge of an odd size the last ones count twice. An item writes one.
__kernel void halve_luma(__global const uchar *whole, int pitch, __global uchar *halved, int width, int height)
{
    const int x = (int)get_global_id(0), y = (int)get_global_id(1);
    const int columns = (width + 1) / 2;
    if (x >= columns || y >= (height + 1) / 2)
        return;
    __global const uchar *upper = whole + (size_t)(2 * y) * (size_t)pitch;
    __global const uchar *lower = whole + (size_t)min(2 * y + 1, height - 1) * (size_t)pitch;
    const int left = 2 * x, right = min(left + 1, width - 1);
    const uint sum = (uint)upper[left] + upper[right] + lower[left] + lower[right];
    halved[(size_t)y * (size_t)columns + (size_t)x] = (uchar)((sum + 2) >> 2);
}
