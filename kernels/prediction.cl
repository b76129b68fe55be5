// What the kernels that make planes share: the samples that a vector predicts. Included after points.cl.
//
// A plane is divided into cells of CELL_WIDTH x CELL_HEIGHT samples, as large as blocks. Built
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

// The samples of a row of a cell, the names of OpenCL's types and functions for as many numbers and for twice as many, the numbers of
// the samples in the row, and their sum.
#if HALVED_X && PIXEL == 1
#define OF_ROW(name) name##4
#define OF_TWICE(name) name##8
#define COLUMNS ((row_t)(0, 1, 2, 3))
#define TOTAL(row) ((row).s0 + (row).s1 + (row).s2 + (row).s3)
#else
#define OF_ROW(name) name##8
#define OF_TWICE(name) name##16
#define COLUMNS ((row_t)(0, 1, 2, 3, 4, 5, 6, 7))
#define TOTAL(row) ((row).s0 + (row).s1 + (row).s2 + (row).s3 + (row).s4 + (row).s5 + (row).s6 + (row).s7)
#endif
typedef OF_ROW(int) row_t;

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
typedef uchar8 source8_t;
#else
typedef ushort source_t;
typedef ushort8 source8_t;
#endif

// The samples of row `y` of a cell that begins at `position`.
static inline row_t row_at(__global const source_t *points, FrameShape f, PlanesShape plane, int number, int2 position, int y)
{
#if DEPTH == 8 && !ON_CPU
    return convert_int8(as_uchar8(eight_samples(points, f, position + (int2)(0, 4 * y))));
#else
    int2 first, second;
    points_around(position, &first, &second);
    const size_t whole = nearest_point(f, position.x >> 2, (position.y >> 2) + y);
    const source8_t a = vload8(0, points + whole + distance_of(f, first));
    const source8_t b = vload8(0, points + whole + distance_of(f, second));
#if DEPTH == 8
    // One instruction, unlike rhadd with PoCL.
    return convert_int8(convert_uchar8((convert_ushort8(a) + convert_ushort8(b) + (ushort8)1) >> 1));
#else
    return convert_int8(rhadd(a, b));
#endif
#endif
}
#else
typedef uchar source_t;

// Twice the samples of a row, of what is in memory, with as few bits as linear interpolation needs; and of these a row from the next
// pixel on.
#if DEPTH == 8
typedef OF_TWICE(ushort) two_rows_t;
typedef OF_ROW(ushort) sums_t;
#define TWO_ROWS(raw) OF_TWICE(convert_ushort)(raw)
#else
typedef OF_TWICE(uint) two_rows_t;
typedef OF_ROW(uint) sums_t;
// Compilers warn of long vectors that functions return.
#define TWO_ROWS(raw) ((two_rows_t)(OF_ROW(convert_uint)((raw).lo), OF_ROW(convert_uint)((raw).hi)) >> SHIFT & PEAK)
#endif
#if HALVED_X && PIXEL == 1
#define NEXT_PIXEL s1234
#elif PIXEL == 1
#define NEXT_PIXEL s12345678
#else
#define NEXT_PIXEL s23456789
#endif

// The samples of row `y` of a cell of plane `number` that begins at `position`.
static inline __attribute__((always_inline)) row_t row_at(__global const source_t *planes, FrameShape f, PlanesShape plane,
                                                          int number, int2 position, int y)
{
    const int2 whole = (position >> 3) + (int2)(0, y), last = (int2)(plane.columns, plane.rows) - 1;
    const uint right = (uint)position.x & 7, down = (uint)position.y & 7;
    planes += plane.first + (ulong)number * plane.bytes;
    __global const raw_t *upper = (__global const raw_t *)(planes + (size_t)clamp(whole.y, 0, last.y) * (size_t)plane.pitch);
    __global const raw_t *lower =
        (__global const raw_t *)(planes + (size_t)clamp(whole.y + 1, 0, last.y) * (size_t)plane.pitch);
#if ON_CPU
    const int first = whole.x * PIXEL;
    if (first >= 0 && first + 2 * CELL_WIDTH <= plane.width) {
        const two_rows_t above = TWO_ROWS(OF_TWICE(vload)(0, upper + first));
        const two_rows_t below = TWO_ROWS(OF_TWICE(vload)(0, lower + first));
        const two_rows_t sums = above * (two_rows_t)(8 - down) + below * (two_rows_t)(down);
        const sums_t next = sums.NEXT_PIXEL;
        return OF_ROW(convert_int)((sums.lo * (sums_t)(8 - right) + next * (sums_t)(right) + (sums_t)(32)) >> 6);
    }
#endif
    int sums[CELL_WIDTH + PIXEL];
#pragma unroll
    for (int i = 0; i < CELL_WIDTH + PIXEL; ++i) {
        const int at = clamp(whole.x + i / PIXEL, 0, last.x) * PIXEL + i % PIXEL;
        sums[i] = (int)(8 - down) * sample_of(upper[at]) + (int)down * sample_of(lower[at]);
    }
    return ((int)(8 - right) * OF_ROW(vload)(0, sums) + (int)right * OF_ROW(vload)(0, sums + PIXEL) + 32) >> 6;
}
#endif

// Reads the samples of a cell's row of plane `number` from `position` on.
static inline void read_row(__global const source_t *planes, FrameShape f, PlanesShape plane, int number, int2 position,
                            uint *samples)
{
    OF_ROW(vstore)(OF_ROW(as_uint)(row_at(planes, f, plane, number, position, 0)), 0, samples);
}

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
#define HALVES as_ushort2
#elif HALF_BYTES == 4
typedef uint half_row_t;
#define HALVES as_uint2
#else
typedef ulong half_row_t;
#define HALVES as_ulong2
#endif

// Writes the row of a cell whose first sample is `x`. PlanesShape.pitch is a multiple of 8, so that the last part of a row has
// room.
static inline void write_row(__global uchar *made, PlanesShape plane, int number, int x, int y, row_t samples)
{
    __global raw_t *to =
        (__global raw_t *)(made + plane.first + (ulong)number * plane.bytes + (ulong)y * (ulong)plane.pitch) + x;
#if DEPTH == 8
    const OF_ROW(uchar) row = OF_ROW(convert_uchar)(samples);
#else
    const OF_ROW(ushort) row = OF_ROW(convert_ushort)(samples << SHIFT);
#endif
    if (x >= 0 && x < plane.width)
        *(__global half_row_t *)to = HALVES(row).x;
    if (x + HALF_WIDTH >= 0 && x + HALF_WIDTH < plane.width)
        *(__global half_row_t *)(to + HALF_WIDTH) = HALVES(row).y;
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
