// What the kernels that make frames share: the shapes of frames and planes, and luma between samples. Included after common.cl.
//
// The oracle, interpolation/oracle.rs, defines made frames. Built with -D DEPTH: the bits of a sample of the frames, and -D SHIFT: the bits
// below it in its two bytes, if it has more than eight.
//
// The *points* of a frame are four planes of its luma: plane HALF_X + HALF_Y * 2 has the samples at whole positions (0),
// half a sample to the right (HALF_X), half a sample below (HALF_Y), and both. The point at (x, y) of a plane is number
//     plane * FrameShape.plane + (y + ROWS_AROUND) * FrameShape.pitch + x + COLUMNS_AROUND
// for x from -COLUMNS_AROUND to width + COLUMNS_AROUND - 1, y from -ROWS_AROUND to height + ROWS_AROUND - 1. So no read
// needs a branch at the edges: from three samples outside the frame on, the points repeat. FrameShape.pitch and
// FrameShape.plane are multiples of 8.

#define COLUMNS_AROUND 16
#define ROWS_AROUND 4

// Samples on a side of a block of luma.
#define SIDE 8

// A sample of the frames in memory.
#if DEPTH == 8
typedef uchar raw_t;
#else
typedef ushort raw_t;
#endif

// The largest sample.
#define PEAK ((1 << DEPTH) - 1)

// The eight bits of a deep sample that are searched: less BLACK, without the LOWER lowest bits.
#ifndef BLACK
#define BLACK 0
#endif
#ifndef LOWER
#define LOWER (DEPTH - 8)
#endif

// Whether the device is a CPU. It loads vectors from any place, computes them in one instruction, and does the items of a group in
// turn; a GPU has as much of either as it has items.
#ifndef ON_CPU
#define ON_CPU 0
#endif

// The same fields as the host's `FrameShape`.
typedef struct {
    int width, height;  // in luma samples
    int columns, rows;  // in blocks
    int found_columns;  // blocks of a row of the field that the search found
    int halvings;       // how often frames were halved to be searched
    int pitch;          // points from one row to the next
    int plane;          // points from a plane to the next
} FrameShape;

// The same fields as the host's `PlanesShape`.
typedef struct {
    ulong first;        // the plane's first byte; that of the first one of several
    ulong bytes;        // from a plane to the next
    int columns, rows;  // in pixels
    int width;          // samples a row
    int pitch;          // bytes from one row to the next
} PlanesShape;

// A vector at a phase, in quarter samples: from the place that it is for to where it starts in the previous frame (x, y),
// and from there to where it ends in the next one (z, w).
typedef short4 PhaseVector;

// A sample from what is in memory.
static inline int sample_of(raw_t raw)
{
    return raw >> SHIFT & PEAK;
}

// The eight bits of it that are searched.
static inline int eight_bits(raw_t raw)
{
    return clamp((sample_of(raw) - BLACK) >> LOWER, 0, 255);
}

// Points from a sample to the point so many half samples, 0 to 2, from it.
static inline size_t distance_of(FrameShape f, int2 half_samples)
{
    const int plane = (half_samples.y & 1) * 2 + (half_samples.x & 1);
    return (size_t)plane * (size_t)f.plane + (size_t)(half_samples.y >> 1) * (size_t)f.pitch + (size_t)(half_samples.x >> 1);
}

// The number of the point at the sample (column, row), which may be anywhere, or of another from which the same SIDE points follow
// in the row.
static inline size_t nearest_point(FrameShape f, int column, int row)
{
    const int x = clamp(column, -(SIDE + 4), f.width + 2), y = clamp(row, -ROWS_AROUND, f.height + 2);
    return (size_t)(y + ROWS_AROUND) * (size_t)f.pitch + (size_t)(x + COLUMNS_AROUND);
}

// Eight points of eight bits from number `at` on.
static inline uint2 eight_points(__global const uchar *points, size_t at)
{
    __global const uint *from = (__global const uint *)(points + (at & ~(size_t)3));
    const uint shift = (uint)at & 3;
    const uint middle = from[1];
    return (uint2)(join_words(from[0], middle, shift), join_words(middle, from[2], shift));
}

// The eight samples of a row from `position` on, in quarter samples.
static inline uint2 eight_samples(__global const uchar *points, FrameShape f, int2 position)
{
    int2 first, second;
    points_around(position, &first, &second);
    const size_t whole = nearest_point(f, position.x >> 2, position.y >> 2);
    const uint2 a = eight_points(points, whole + distance_of(f, first));
    const uint2 b = eight_points(points, whole + distance_of(f, second));
    return (uint2)(average_four(a.x, b.x), average_four(a.y, b.y));
}
