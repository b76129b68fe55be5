// What the kernels that make planes share: the samples that a vector predicts. Included after points.cl.
//
// A plane is divided into cells of CELL_WIDTH x CELL_HEIGHT samples, as large as blocks. An item makes a row of a cell. Built
// once for luma (-D LUMA=1), which is read at points, and once for chroma, which is interpolated linearly: -D HALVED_X,
// -D HALVED_Y: whether its planes have half of luma's columns, and of its rows; -D PIXEL: samples of a pixel, 2 where
// components are interleaved.

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

// MOST_BEYOND for samples of DEPTH bits.
#define DEEP_MOST_BEYOND ((uint)MOST_BEYOND << (DEPTH - 8))

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

// A sample at an end of a vector, brought to DEEP_MOST_BEYOND outside the range of `least`, `largest` and the other end.
static inline uint within(uint sample, uint least, uint largest, uint other)
{
    return clamp(sample, sub_sat(min(least, other), DEEP_MOST_BEYOND), max(largest, other) + DEEP_MOST_BEYOND);
}

// Predicts a cell's row whose first pixel is `pixel`, in 64ths of a sample. `both` is the weight of the previous frame where
// both frames count, in 64ths; `least` and `largest` are of the samples of both frames there. `a` and `b` become the samples that
// the start and the end predict alone.
static inline void predict_row(__global const source_t *previous, __global const source_t *next, FrameShape f,
                               PlanesShape plane, int number, int2 pixel, PhaseVector vector, uint both, const uint *least,
                               const uint *largest, uint *predicted, uint *a, uint *b)
{
    const int4 quarters = convert_int4(vector);
    const int2 start = UNITS * pixel + STEPS * quarters.xy, end = start + STEPS * quarters.zw;
    read_row(previous, f, plane, number, start, a);
    read_row(next, f, plane, number, end, b);
    const int2 most = UNITS * ((int2)(plane.columns, plane.rows) - 1) + TOLERANCE;
    const bool starts_in = start.y >= -TOLERANCE && start.y <= most.y, ends_in = end.y >= -TOLERANCE && end.y <= most.y;
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i) {
        const int from = start.x + UNITS * (i / PIXEL), to = end.x + UNITS * (i / PIXEL);
        const bool has_start = starts_in && from >= -TOLERANCE && from <= most.x;
        const bool has_end = ends_in && to >= -TOLERANCE && to <= most.x;
        if (has_start == has_end) {
            predicted[i] = both * within(a[i], least[i], largest[i], b[i]) +
                           (64 - both) * within(b[i], least[i], largest[i], a[i]);
        } else {
            a[i] = b[i] = has_start ? a[i] : b[i];
            predicted[i] = 64 * a[i];
        }
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

// Writes the row of a cell whose first sample is `x`. PlanesShape.pitch is a multiple of 8, so that the last part of a row has
// room.
static inline void write_row(__global uchar *made, PlanesShape plane, int number, int x, int y, const uint *samples)
{
    __global uchar *to = made + plane.first + (ulong)number * plane.bytes + (ulong)y * (ulong)plane.pitch;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
        const int first = x + part * HALF_WIDTH;
        half_row_t row = 0;
#pragma unroll
        for (int i = 0; i < HALF_WIDTH; ++i)
            row |= (half_row_t)(samples[part * HALF_WIDTH + i] << SHIFT) << (8 * (int)sizeof(raw_t) * i);
        if (first >= 0 && first < plane.width)
            *(__global half_row_t *)(to + (size_t)first * sizeof(raw_t)) = row;
    }
}

// The least and the largest of the samples of both frames in a row of a cell whose first pixel is `pixel`.
static inline void read_range(__global const source_t *previous, __global const source_t *next, FrameShape f,
                              PlanesShape plane, int number, int2 pixel, uint *least, uint *largest)
{
    read_row(previous, f, plane, number, UNITS * pixel, least);
    read_row(next, f, plane, number, UNITS * pixel, largest);
#pragma unroll
    for (int i = 0; i < CELL_WIDTH; ++i) {
        const uint a = least[i], b = largest[i];
        least[i] = min(a, b);
        largest[i] = max(a, b);
    }
}
