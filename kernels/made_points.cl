// The points of a frame that is loaded, in the layout of points.cl. Included after it.

// Whether of deep samples those points are left out that have the eight bits that are searched.
#ifndef ALL_BITS_ALONE
#define ALL_BITS_ALONE 0
#endif

// Four adjacent points of each of the four planes, one plane after the other, from (x, y) on, of samples less `black`,
// without their `lower` lowest bits, from 0 to `most`.
static inline void four_points(__global const raw_t *luma, int pitch, FrameShape f, int black, int lower, int most,
                               int x, int y, int *points)
{
    // From two samples before the first point to three after the last: they themselves, and the sums of the filter down.
    int middle[9], down[9];
#pragma unroll
    for (int i = 0; i < 9; ++i) {
        const int column = clamp(x + i - 2, 0, f.width - 1);
        int samples[6];
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            const size_t row = (size_t)clamp(y + k - 2, 0, f.height - 1);
            const int sample = sample_of(luma[row * (size_t)pitch + (size_t)column]);
            samples[k] = clamp((sample - black) >> lower, 0, most);
        }
        middle[i] = samples[2];
        down[i] = SIX_TAPS(samples[0], samples[1], samples[2], samples[3], samples[4], samples[5]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int *m = middle + i, *d = down + i;
        points[i] = m[2];
        points[4 + i] = clamp((SIX_TAPS(m[0], m[1], m[2], m[3], m[4], m[5]) + 16) >> 5, 0, most);
        points[8 + i] = clamp((d[2] + 16) >> 5, 0, most);
        points[12 + i] = clamp((SIX_TAPS(d[0], d[1], d[2], d[3], d[4], d[5]) + 512) >> 10, 0, most);
    }
}

// Makes the points of a plane of luma's size: those of the eight bits that are searched, and in `deep` those of all bits, if there
// are more. An item makes four of each plane. The plane of the frame in `planes` has rows `pitch` samples apart.
__kernel void make_points(__global const uchar *planes, PlanesShape plane_of_frame, int pitch, __global uchar *points,
                          __global ushort *deep, FrameShape f)
{
    __global const raw_t *luma = (__global const raw_t *)(planes + plane_of_frame.first);
    const int column = 4 * (int)get_global_id(0), row = (int)get_global_id(1);
    if (column >= f.pitch || row >= f.height + 2 * ROWS_AROUND)
        return;
    const size_t at = (size_t)row * (size_t)f.pitch + (size_t)column;
    const int x = column - COLUMNS_AROUND, y = row - ROWS_AROUND;
    int made[16];
#if DEPTH == 8 || !ALL_BITS_ALONE
    four_points(luma, pitch, f, BLACK, LOWER, 255, x, y, made);
#pragma unroll
    for (int plane = 0; plane < 4; ++plane)
        *(__global uchar4 *)(points + (size_t)plane * (size_t)f.plane + at) = convert_uchar4(vload4((size_t)plane, made));
#endif
#if DEPTH > 8
    four_points(luma, pitch, f, 0, 0, PEAK, x, y, made);
#pragma unroll
    for (int plane = 0; plane < 4; ++plane)
        *(__global ushort4 *)(deep + (size_t)plane * (size_t)f.plane + at) = convert_ushort4(vload4((size_t)plane, made));
#endif
}
