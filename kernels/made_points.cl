// The points of a frame that is loaded, in the layout of points.cl. Included after it.

// Whether of deep samples those points are left out that have the eight bits that are searched.
#ifndef ALL_BITS_ALONE
#define ALL_BITS_ALONE 0
#endif

// The points that an item makes of a plane, and the names of OpenCL's types and functions for as many numbers.
#if ON_CPU
#define OF_POINTS(name) name##8
#else
#define OF_POINTS(name) name##4
#endif
typedef OF_POINTS(int) points_t;

#if ON_CPU
// Here and elsewhere the limits of vectors are vectors: Oclgrind takes scalar ones for 0.

#if DEPTH == 8
typedef uchar16 raw16_t;
#else
typedef ushort16 raw16_t;
#endif

// Sixteen samples in memory, of row `y` from `x` on.
static inline raw16_t samples_from(__global const raw_t *luma, int pitch, FrameShape f, int x, int y)
{
    luma += (size_t)clamp(y, 0, f.height - 1) * (size_t)pitch;
    if (x >= 0 && x + 16 <= f.width)
        return vload16(0, luma + x);
    raw_t samples[16];
    for (int i = 0; i < 16; ++i)
        samples[i] = luma[clamp(x + i, 0, f.width - 1)];
    return vload16(0, samples);
}

#define SIX_TAPS_ACROSS(v) \
    SIX_TAPS(v.s01234567, v.s12345678, v.s23456789, v.s3456789a, v.s456789ab, v.s56789abc)

// Adjacent points of each of the four planes from (x, y) on, of samples less `black`, without their `lower` lowest bits, from 0 to
// `most`.
static inline void points_from(__global const raw_t *luma, int pitch, FrameShape f, int black, int lower, int most,
                               int x, int y, points_t *points)
{
    // From two samples before the first point to three after the last, and three more: in two vectors, as compilers warn of longer
    // ones that functions get.
    const points_t least = 0, largest = most;
    int8 first[6], second[6];
    for (int k = 0; k < 6; ++k) {
        const raw16_t raw = samples_from(luma, pitch, f, x - 2, y + k - 2);
        first[k] = clamp(((convert_int8(raw.lo) >> SHIFT & PEAK) - black) >> lower, least, largest);
        second[k] = clamp(((convert_int8(raw.hi) >> SHIFT & PEAK) - black) >> lower, least, largest);
    }
    const int16 middle = (int16)(first[2], second[2]);
    const int16 down = (int16)(SIX_TAPS(first[0], first[1], first[2], first[3], first[4], first[5]),
                               SIX_TAPS(second[0], second[1], second[2], second[3], second[4], second[5]));
    points[0] = middle.s23456789;
    points[1] = clamp((SIX_TAPS_ACROSS(middle) + 16) >> 5, least, largest);
    points[2] = clamp((down.s23456789 + 16) >> 5, least, largest);
    points[3] = clamp((SIX_TAPS_ACROSS(down) + 512) >> 10, least, largest);
}
#else
// Adjacent points of each of the four planes from (x, y) on, of samples less `black`, without their `lower` lowest bits, from 0 to
// `most`.
static inline void points_from(__global const raw_t *luma, int pitch, FrameShape f, int black, int lower, int most,
                               int x, int y, points_t *points)
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
    int made[16];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int *m = middle + i, *d = down + i;
        made[i] = m[2];
        made[4 + i] = clamp((SIX_TAPS(m[0], m[1], m[2], m[3], m[4], m[5]) + 16) >> 5, 0, most);
        made[8 + i] = clamp((d[2] + 16) >> 5, 0, most);
        made[12 + i] = clamp((SIX_TAPS(d[0], d[1], d[2], d[3], d[4], d[5]) + 512) >> 10, 0, most);
    }
#pragma unroll
    for (int plane = 0; plane < 4; ++plane)
        points[plane] = vload4((size_t)plane, made);
}
#endif

// Makes the points of a plane of luma's size: those of the eight bits that are searched, and in `deep` those of all bits, if there
// are more. An item makes points_t of each plane. The plane of the frame in `planes` has rows `pitch` samples apart.
__kernel void make_points(__global const uchar *planes, PlanesShape plane_of_frame, int pitch, __global uchar *points,
                          __global ushort *deep, FrameShape f)
{
    __global const raw_t *luma = (__global const raw_t *)(planes + plane_of_frame.first);
    const int column = (int)(sizeof(points_t) / sizeof(int)) * (int)get_global_id(0), row = (int)get_global_id(1);
    if (column >= f.pitch || row >= f.height + 2 * ROWS_AROUND)
        return;
    const size_t at = (size_t)row * (size_t)f.pitch + (size_t)column;
    const int x = column - COLUMNS_AROUND, y = row - ROWS_AROUND;
    points_t made[4];
#if DEPTH == 8 || !ALL_BITS_ALONE
    points_from(luma, pitch, f, BLACK, LOWER, 255, x, y, made);
#pragma unroll
    for (int plane = 0; plane < 4; ++plane)
        *(__global OF_POINTS(uchar) *)(points + (size_t)plane * (size_t)f.plane + at) = OF_POINTS(convert_uchar)(made[plane]);
#endif
#if DEPTH > 8
    points_from(luma, pitch, f, 0, 0, PEAK, x, y, made);
#pragma unroll
    for (int plane = 0; plane < 4; ++plane)
        *(__global OF_POINTS(ushort) *)(deep + (size_t)plane * (size_t)f.plane + at) = OF_POINTS(convert_ushort)(made[plane]);
#endif
}
