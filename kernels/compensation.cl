// Overlapped motion compensation: the planes of made frames, from the vectors that interpolation.cl chooses.
//
// docs/algorithms.md defines it. A plane is divided into cells of CELL_WIDTH x CELL_HEIGHT samples between the centres of
// blocks: each is predicted by the vectors of the four blocks around it, whose windows overlap there. An item makes a row
// of a cell. Built once for luma (-D LUMA=1), which is read at points, and once for chroma, which is interpolated linearly:
// -D HALVED_X, -D HALVED_Y: whether its planes have half of luma's columns, and of its rows; -D PIXEL: samples of a pixel, 2
// where components are interleaved.

#include "common.cl"
#include "points.cl"

#ifndef LUMA
#define LUMA 1
#endif
#if LUMA
#define HALVED_X 0
#define HALVED_Y 0
#define PIXEL 1
#endif

// Pixels and samples of a cell's row, and rows of a cell.
#define CELL_PIXELS (SIDE >> HALVED_X)
#define CELL_WIDTH (CELL_PIXELS * PIXEL)
#define CELL_HEIGHT (SIDE >> HALVED_Y)

// Positions in a sample on each axis, and those of a quarter luma sample.
#define UNITS (LUMA ? 4 : 8)
#define STEPS ((int2)(LUMA || HALVED_X ? 1 : 2, LUMA || HALVED_Y ? 1 : 2))

// How far outside a frame a position still counts as inside: half a luma sample of a halved plane.
#define TOLERANCE (UNITS / 2)

// The most by which a sample at the end of a vector may lie outside the range of the other end and of the two samples at the
// place that the vector is for.
#define MOST_BEYOND (8u << (DEPTH - 8))

// The windows of four blocks add up to 2^(WINDOW_BITS), and the weights of two frames to 64.
#define WINDOW_BITS (8 - HALVED_X - HALVED_Y)
#define SUM_BITS (6 + WINDOW_BITS)

// The same fields as the host's `PlanesShape`.
typedef struct {
    ulong first;        // the plane's first byte; that of the first one of several
    ulong bytes;        // from a plane to the next
    int columns, rows;  // in pixels
    int width;          // samples a row
    int pitch;          // bytes from one row to the next
} PlanesShape;

#if LUMA
#if DEPTH == 8
typedef uchar source_t;
#else
typedef ushort source_t;
#endif

// Reads the samples of a cell's row from `position` on.
static inline void read_row(__global const source_t *points, FrameShape f, PlanesShape plane, int number, int2 position,
                            uint *samples)
{
#if DEPTH == 8
    vstore8(convert_uint8(as_uchar8(eight_samples(points, f, position))), 0, samples);
#else
    int2 first, second;
    points_around(position, &first, &second);
    const int2 whole = whole_sample(f, position);
    const ushort8 a = vload8(0, points + point_number(f, whole, first));
    const ushort8 b = vload8(0, points + point_number(f, whole, second));
    vstore8(convert_uint8(rhadd(a, b)), 0, samples);
#endif
}
#else
typedef uchar source_t;

// Reads the samples of a cell's row of plane `number` from `position` on.
static inline void read_row(__global const source_t *planes, FrameShape f, PlanesShape plane, int number, int2 position,
                            uint *samples)
{
    const int2 whole = position >> 3, last = (int2)(plane.columns, plane.rows) - 1;
    const uint right = (uint)position.x & 7, down = (uint)position.y & 7;
    planes += plane.first + (ulong)number * plane.bytes;
    __global const raw_t *upper = (__global const raw_t *)(planes + (size_t)clamp(whole.y, 0, last.y) * (size_t)plane.pitch);
    __global const raw_t *lower =
        (__global const raw_t *)(planes + (size_t)clamp(whole.y + 1, 0, last.y) * (size_t)plane.pitch);
    uint sums[CELL_WIDTH + PIXEL];
#pragma unroll
    for (int i = 0; i < CELL_WIDTH + PIXEL; ++i) {
        const int at = clamp(whole.x + i / PIXEL, 0, last.x) * PIXEL + i % PIXEL;
        sums[i] = (8 - down) * (uint)sample_of(upper[at]) + down * (uint)sample_of(lower[at]);
    }
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i)
        samples[i] = ((8 - right) * sums[i] + right * sums[i + PIXEL] + 32) >> 6;
}
#endif

// A sample at an end of a vector, brought to MOST_BEYOND outside the range of `least`, `largest` and the other end.
static inline uint within(uint sample, uint least, uint largest, uint other)
{
    return clamp(sample, sub_sat(min(least, other), MOST_BEYOND), max(largest, other) + MOST_BEYOND);
}

// Predicts a cell's row whose first pixel is `pixel`, in 64ths of a sample. `both` is the weight of the previous frame where
// both frames count, in 64ths; `least` and `largest` are of the samples of both frames there.
static inline void predict_row(__global const source_t *previous, __global const source_t *next, FrameShape f,
                               PlanesShape plane, int number, int2 pixel, PhaseVector vector, uint both, const uint *least,
                               const uint *largest, uint *predicted)
{
    const int4 quarters = convert_int4(vector);
    const int2 start = UNITS * pixel + STEPS * quarters.xy, end = start + STEPS * quarters.zw;
    uint a[CELL_WIDTH], b[CELL_WIDTH];
    read_row(previous, f, plane, number, start, a);
    read_row(next, f, plane, number, end, b);
    const int2 most = UNITS * ((int2)(plane.columns, plane.rows) - 1) + TOLERANCE;
    const bool starts_in = start.y >= -TOLERANCE && start.y <= most.y, ends_in = end.y >= -TOLERANCE && end.y <= most.y;
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i) {
        const int from = start.x + UNITS * (i / PIXEL), to = end.x + UNITS * (i / PIXEL);
        const bool has_start = starts_in && from >= -TOLERANCE && from <= most.x;
        const bool has_end = ends_in && to >= -TOLERANCE && to <= most.x;
        if (has_start == has_end)
            predicted[i] = both * within(a[i], least[i], largest[i], b[i]) +
                           (64 - both) * within(b[i], least[i], largest[i], a[i]);
        else
            predicted[i] = 64 * (has_start ? a[i] : b[i]);
    }
}

// The part of a cell's row on one side of a block's centre line: rows of planes begin with such a part, and end in one.
#define HALF_WIDTH (CELL_WIDTH / 2)
#if DEPTH == 8
#define HALF_BYTES HALF_WIDTH
#else
#define HALF_BYTES (2 * HALF_WIDTH)
#endif
#if HALF_BYTES == 2
typedef ushort half_row_t;
#elif HALF_BYTES == 4
typedef uint half_row_t;
#else
typedef ulong half_row_t;
#endif

// Makes a plane or, of several planes of the same shape, plane number get_global_id(2). `previous` and `next` are the points
// of luma, or the planes of the frames. PlanesShape.pitch is a multiple of 8, so that the last part of a row has room.
__kernel void compensate(__global const source_t *previous, __global const source_t *next,
                         __global const PhaseVector *chosen, __global uchar *made, FrameShape f, PlanesShape plane, int both)
{
    const int cell = (int)get_global_id(0), y = (int)get_global_id(1), number = (int)get_global_id(2);
    const int x = CELL_WIDTH * cell - HALF_WIDTH;
    if (x >= plane.width || y >= plane.rows)
        return;
    const int row = (y + CELL_HEIGHT / 2) / CELL_HEIGHT, down = (y + CELL_HEIGHT / 2) % CELL_HEIGHT;
    const int left = max(cell - 1, 0), right = min(cell, f.columns - 1);
    __global const PhaseVector *above = chosen + max(row - 1, 0) * f.columns;
    __global const PhaseVector *below = chosen + min(row, f.rows - 1) * f.columns;
    const PhaseVector around[4] = {above[left], above[right], below[left], below[right]};
    const int2 pixel = (int2)(x / PIXEL, y);
    uint predicted[CELL_WIDTH], sums[CELL_WIDTH], least[CELL_WIDTH], largest[CELL_WIDTH];
    read_row(previous, f, plane, number, UNITS * pixel, least);
    read_row(next, f, plane, number, UNITS * pixel, largest);
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i) {
        const uint a = least[i], b = largest[i];
        least[i] = min(a, b);
        largest[i] = max(a, b);
        sums[i] = 1u << (SUM_BITS - 1);
    }
#pragma unroll
    for (int corner = 0; corner < 4; ++corner) {
        // Neighbours often have the same vector.
        if (corner == 0 || any(around[corner] != around[corner - 1]))
            predict_row(previous, next, f, plane, number, pixel, around[corner], (uint)both, least, largest, predicted);
        const uint height = (uint)(corner < 2 ? 2 * (CELL_HEIGHT - down) - 1 : 2 * down + 1);
#pragma unroll
        for (int i = 0; i < CELL_WIDTH; ++i) {
            const int across = i / PIXEL;
            const uint width = (uint)(corner % 2 == 0 ? 2 * (CELL_PIXELS - across) - 1 : 2 * across + 1);
            sums[i] += height * width * predicted[i];
        }
    }
    __global uchar *to = made + plane.first + (ulong)number * plane.bytes + (ulong)y * (ulong)plane.pitch;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
        const int first = x + part * HALF_WIDTH;
        half_row_t samples = 0;
#pragma unroll
        for (int i = 0; i < HALF_WIDTH; ++i) {
            const uint sample = sums[part * HALF_WIDTH + i] >> SUM_BITS;
            samples |= (half_row_t)(sample << SHIFT) << (8 * (int)sizeof(raw_t) * i);
        }
        if (first >= 0 && first < plane.width)
            *(__global half_row_t *)(to + (size_t)first * sizeof(raw_t)) = samples;
    }
}
