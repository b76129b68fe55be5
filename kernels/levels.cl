// The pyramid of a frame as hierarchical search reads it. Included after common.cl.
//
// The oracle hierarchical/mod.rs defines the search. A *slot* is the buffer of one frame on the device:
//
//   the frame   in the layout of common.cl, and its three planes of half samples
//   levels      of each level, finest first, four planes, then a word for each cell
//
// Plane HALF_X + HALF_Y * 2 of a level has the samples at whole positions (0), half a sample to the right
// (HALF_X), half a sample below (HALF_Y), and both. All four have one size and pitch, and a margin of at
// least MARGIN samples, so that no read needs a branch at the edges.
//
// Positions of cells and fields of vectors count cells row by row. No component of a vector is longer
// than 5627 quarter samples, because each of at most 8 levels doubles what it gets and adds at most 7: 16 bits hold it.

// Samples on a side of a cell, and words of four samples in a cell.
#define CELL 8
#define CELL_WORDS (CELL * CELL / 4)

// Samples of the planes outside a level on each side.
#define MARGIN 16

// Offsets in a slot count units of this many bytes, so that 32 bits are enough.
#define UNIT 16

// The most levels of a pyramid.
#define MOST_LEVELS 8

// The most that one sample adds to a cost; 255: no limit.
#ifndef CUT
#define CUT 255
#endif

// The offset that is taken off a cell before it is compared. 1: the difference in brightness of the two cells, for a
// penalty. 0: that of pass 8.
#ifndef BRIGHTNESS
#define BRIGHTNESS 1
#endif

// The largest difference in brightness that is taken off, and what a unit of it costs.
#define MOST_OFFSET 48
#define OFFSET_PENALTY 8

// The same fields as the host's `LevelArg`.
typedef struct {
    int width, height;  // in samples
    int columns, rows;  // in cells
    int pitch;          // bytes from one row of samples to the next
    uint origin;        // the first sample of the frame in plane 0, in units
    uint plane;         // from a plane to the next, in units
    uint cells;         // the words of the cells, in units
    int first_cell;     // the cells of all finer levels
    int first_tile;     // the tiles of the frame and of all finer levels: see pyramid.cl
} Level;

// A cell's word: the sum of its samples, their mean, how much smoothness counts there, and a number that no sample is
// nearer to 0 or to 255.
#define CELL_SUM(word) ((int)((word) & 0xffff))
#define CELL_MEAN(word) ((int)((word) >> 16 & 0xff))
#define CELL_SMOOTHNESS(word) ((int)((word) >> 24 & 7))
#define CELL_REACH(word) ((int)((word) >> 27) * 2)

// A cell's motion in a field: its vector in quarter samples (x, y), its cost (z) and its offset (w).
typedef short4 CellMotion;

// The neighbours of a cell in the order of the definition.
static inline int neighbour_x(int k)
{
    return k < 2 ? 0 : (k & 1) ? 1 : -1;
}

static inline int neighbour_y(int k)
{
    return k < 2 ? 2 * k - 1 : k < 4 ? 0 : k < 6 ? -1 : 1;
}

// The words of the cells of a level.
static inline __global const uint *cell_words(__global const uchar *slot, Level level)
{
    return (__global const uint *)(slot + (size_t)level.cells * UNIT);
}

// The weight of two cells for each other, by their means.
static inline int likeness(int mean, int other)
{
    return max(2, 16 - (int)(abs(mean - other) >> 1));
}

static inline int length_of(int2 vector)
{
    return (int)(abs(vector.x) + abs(vector.y));
}

// The length of the difference of two vectors.
static inline int distance_of(int2 a, int2 b)
{
    return (int)(abs_diff(a.x, b.x) + abs_diff(a.y, b.y));
}

// `vector` in quarter samples, limited so that the cell's centre stays at most a cell outside the level.
static inline int2 limit_vector(Level level, int2 cell, int2 vector)
{
    const int2 centre = CELL * cell + CELL / 2;
    const int2 most = (int2)(level.width, level.height) + CELL - centre;
    return clamp(vector, -4 * (CELL + centre), 4 * most);
}

// Each of four samples minus `amount`, 0 to 127, but not less than 0.
static inline uint subtract_four(uint samples, uint amount)
{
    const uint tops = 0x80808080u;
    // With its top bit set, no sample borrows from the next one.
    const uint rest = (samples | tops) - amount * 0x01010101u;
    // The top bit is lost where a sample below 128 is less than the amount: there the result is 0.
    const uint kept = (samples | rest) & tops;
    return (rest & (kept - (kept >> 7))) | (samples & rest & tops);
}

// Each of four samples minus `offset`, limited to 0..255.
static inline uint offset_four(uint samples, int offset)
{
    // Adding is subtracting from the complement.
    const uint flip = offset < 0 ? 0xffffffffu : 0u;
    return subtract_four(samples ^ flip, abs(offset)) ^ flip;
}

// The same; if no sample passes the limits, without regard to them.
static inline uint offset_word(uint samples, int offset, bool clips)
{
    return clips ? offset_four(samples, offset) : samples - (uint)offset * 0x01010101u;
}

// `sum` plus the four samples.
static inline uint add_four(uint samples, uint sum)
{
    return compare_four(samples, 0, sum);
}

// `cost` plus the differences of four samples, each at most CUT.
static inline uint compare_four_cut(uint c, uint r, uint cost)
{
#if CUT >= 255
    return compare_four(c, r, cost);
#elif FOUR_SAMPLES & FOUR_VABSDIFF4
    uint differences;
    asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(differences) : "r"(c), "r"(r), "r"(0));
    // The top bit of each that reaches the cut, then all bits of it.
    const uint tops = ((differences & 0x7f7f7f7fu) + (128 - CUT) * 0x01010101u) | differences;
    uint reaches;
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(reaches) : "r"(tops));
    return add_four((differences & ~reaches) | (CUT * 0x01010101u & reaches), cost);
#else
    return add_four(as_uint(min(abs_diff(as_uchar4(c), as_uchar4(r)), (uchar4)(CUT))), cost);
#endif
}

// Reads the 8 x 8 samples of a level at a point in half samples from the whole sample `whole`.
static inline void read_point(__global const uchar *slot, Level level, int2 whole, int2 point, uint *samples)
{
    const int2 at = whole + (point >> 1);
    __global const uchar *plane =
        slot + ((size_t)level.origin + (size_t)level.plane * (size_t)((point.y & 1) * 2 + (point.x & 1))) * UNIT;
    // The first sample and `pitch` are multiples of 4, so x alone decides the alignment.
    __global const uint *from = (__global const uint *)(plane + (at.y * level.pitch + (at.x & ~3)));
    const uint shift = (uint)(at.x & 3);
    const int row_words = level.pitch / 4;
#pragma unroll
    for (int row = 0; row < CELL; ++row) {
        const uint a = from[0], b = from[1], c = from[2];
        samples[2 * row] = join_words(a, b, shift);
        samples[2 * row + 1] = join_words(b, c, shift);
        from += row_words;
    }
}

// Reads the 8 x 8 samples of a level at `position`, in quarter samples: interpolation of H.264.
static inline void read_cell(__global const uchar *slot, Level level, int2 position, uint *samples)
{
    // From three samples outside the level on, nothing changes any more.
    const int2 end = (int2)(level.width, level.height) + 2;
    const int2 whole = clamp(position >> 2, (int2)(-(CELL + 4)), end);
    int2 first, second;
    points_around(position, &first, &second);

    read_point(slot, level, whole, first, samples);
    if (any(first != second)) {
        uint others[CELL_WORDS];
        read_point(slot, level, whole, second, others);
#pragma unroll
        for (int i = 0; i < CELL_WORDS; ++i)
            samples[i] = average_four(samples[i], others[i]);
    }
}

// The difference in brightness of a cell with the sum `sum` and the 64 samples of the reference.
static inline int brightness_between(int sum, const uint *reference)
{
    uint total = 0;
#pragma unroll
    for (int i = 0; i < CELL_WORDS; ++i)
        total = add_four(reference[i], total);
    return clamp((sum - (int)total + 32) >> 6, -MOST_OFFSET, MOST_OFFSET);
}
