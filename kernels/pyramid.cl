// What hierarchical search needs of one frame: passes 1 to 4 of its definition. Made once for each frame.
//
//   halve        up to three levels, each half as large as the one before, and the smoothed finest level
//   interpolate  margins and planes of half samples of all levels and of the frame, and the cells' words
//
// levels.cl has the layout.

#include "common.cl"
#include "levels.cl"
#include "taps.cl"

// The same fields as the host's `PyramidArg`.
typedef struct {
    Level frame;                // the frame as it was loaded
    Level levels[MOST_LEVELS];  // level 0 is the frame, smoothed
    int count;
} Pyramid;

// Level `number` of the pyramid. A loop over all of them, so that every index is a constant.
static inline Level level_number(Pyramid pyramid, int number)
{
    Level level = pyramid.levels[0];
#pragma unroll
    for (int i = 1; i < MOST_LEVELS; ++i)
        level = i == number ? pyramid.levels[i] : level;
    return level;
}

// The address of the first sample of a level.
static inline __global uchar *first_sample(__global uchar *slot, Level level)
{
    return slot + (size_t)level.origin * UNIT;
}

// The four samples of a row from `x` on; outside 0..width the edge samples. x is a multiple of 4.
static inline uint read_word(__global const uchar *row, int x, int width)
{
    if (x >= 0 && x + 3 < width)
        return *(__global const uint *)(row + x);
    const int last = width - 1;
    return (uint)row[clamp(x, 0, last)] | (uint)row[clamp(x + 1, 0, last)] << 8 |
           (uint)row[clamp(x + 2, 0, last)] << 16 | (uint)row[clamp(x + 3, 0, last)] << 24;
}

// Side of the tile of each level that a group of `halve` fills, the first of them without what surrounds it.
#define TILE_1 38
#define TILE_2 18
#define TILE_3 8
#define SOURCE_SIDE 64
#define SOURCE_ROWS (2 * TILE_1 + 2)
#define SOURCE_WORDS (SOURCE_ROWS / 4 + 1)
#define SOURCE_PITCH (4 * SOURCE_WORDS)

// Fills a tile of `side` x `side` samples of a level of `size` samples, of which the first is at `first`, and
// writes to the level those from `inset` on. The tile of the finer level begins at 2 * first - 1.
static inline void halve_tile(__local const uchar *finer, int finer_pitch, __local uchar *tile, int side,
                              int2 first, int inset, __global uchar *slot, Level level)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int2 last = (int2)(level.width, level.height) - 1;
    __global uchar *target = first_sample(slot, level);
    for (int start = 0; start < side * side; start += items) {
        const int i = start + item;
        if (i < side * side) {
            const int2 at = (int2)(i % side, i / side), here = first + at;
            // Outside the level its edge samples repeat.
            const int2 inside = clamp(here, (int2)(0), last);
            const int2 from = 2 * clamp(inside - first, (int2)(0), (int2)(side - 1));
            int sum = 32;
            for (int j = 0; j < 4; ++j) {
                __local const uchar *row = finer + (from.y + j) * finer_pitch + from.x;
                sum += (j == 1 || j == 2 ? 3 : 1) * (row[0] + 3 * (row[1] + row[2]) + row[3]);
            }
            tile[i] = (uchar)(sum >> 6);
            const bool is_own = all(at >= inset) && all(at < side - inset) && all(here == inside);
            if (is_own)
                target[(size_t)here.y * (size_t)level.pitch + (size_t)here.x] = tile[i];
        }
    }
}

// Four samples from `s` on, smoothed.
static inline uint smooth_word(__local const uchar *s)
{
    uint word = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k, ++s) {
        const int beside = s[-SOURCE_PITCH] + s[-1] + s[1] + s[SOURCE_PITCH];
        word |= (uint)((beside + 4 * s[0] + 4) >> 3) << 8 * k;
    }
    return word;
}

// Halves level `first`, or the frame if that is 0, up to three times: a group makes what is below 64 x 64 of its
// samples, and computes what surrounds its tiles again, so that no group waits for another.
__kernel FIXED_GROUP void halve(__global uchar *slot, Pyramid pyramid, int first)
{
    __local uint source_words[SOURCE_ROWS * SOURCE_WORDS];
    __local uchar tile_1[TILE_1 * TILE_1], tile_2[TILE_2 * TILE_2], tile_3[TILE_3 * TILE_3];
    __local uchar *source = (__local uchar *)source_words;
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int2 tile = (int2)((int)get_group_id(0), (int)get_group_id(1));
    const Level level = first == 0 ? pyramid.frame : level_number(pyramid, first);
    const int2 corner = tile * SOURCE_SIDE - 8;
    for (int start = 0; start < SOURCE_ROWS * SOURCE_WORDS; start += items) {
        const int i = start + item, x = corner.x + 4 * (i % SOURCE_WORDS);
        if (i < SOURCE_ROWS * SOURCE_WORDS) {
            const int y = clamp(corner.y + 1 + i / SOURCE_WORDS, 0, level.height - 1);
            source_words[i] = read_word(first_sample(slot, level) + (size_t)y * (size_t)level.pitch, x, level.width);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const Level finest = pyramid.levels[0];
    for (int start = 0; start < SOURCE_SIDE * SOURCE_SIDE / 4; start += items) {
        const int i = start + item, x = i % (SOURCE_SIDE / 4) * 4, y = i / (SOURCE_SIDE / 4);
        const int2 at = tile * SOURCE_SIDE + (int2)(x, y);
        if (first == 0 && y < SOURCE_SIDE && at.x < finest.width && at.y < finest.height) {
            // The last word of a row may pass its end: `interpolate` writes the margin afterwards.
            *(__global uint *)(first_sample(slot, finest) + (at.y * finest.pitch + at.x)) =
                smooth_word(source + (y + 7) * SOURCE_PITCH + x + 8);
        }
    }
    // The first sample of the source tile is one further left than that of the rows.
    if (first + 1 < pyramid.count)
        halve_tile(source + 1, SOURCE_PITCH, tile_1, TILE_1, tile * (SOURCE_SIDE / 2) - 3, 3, slot,
                   level_number(pyramid, first + 1));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first + 2 < pyramid.count)
        halve_tile(tile_1, TILE_1, tile_2, TILE_2, tile * (SOURCE_SIDE / 4) - 1, 1, slot,
                   level_number(pyramid, first + 2));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first + 3 < pyramid.count)
        halve_tile(tile_2, TILE_2, tile_3, TILE_3, tile * (SOURCE_SIDE / 8), 0, slot,
                   level_number(pyramid, first + 3));
}

// A tile of `interpolate`, and the words of a row, and rows, that its filters read.
#define TILE_WIDTH 64
#define TILE_HEIGHT 16
#define TILE_WORDS (TILE_WIDTH / 4)
#define READ_WORDS (TILE_WORDS + 2)
#define READ_ROWS (TILE_HEIGHT + 5)
#define TILE_CELLS ((TILE_WIDTH / CELL) * (TILE_HEIGHT / CELL))

// The tile's level: the frame's tiles come first.
static inline Level level_of_tile(Pyramid pyramid, int tile)
{
    Level level = pyramid.frame;
#pragma unroll
    for (int i = 0; i < MOST_LEVELS; ++i)
        level = i < pyramid.count && tile >= pyramid.levels[i].first_tile ? pyramid.levels[i] : level;
    return level;
}

// What smoothness counts in a cell, from the sum of the differences between its samples and their mean: less in
// plain cells, except on the finest level.
static inline uint smoothness_of(bool is_finest, uint activity)
{
    return is_finest ? 5u : 5 * clamp(activity >> 4, 8u, 16u) >> 4;
}

// Writes the planes of half samples of a tile and the margin of plane 0, and the words of the tile's cells. Tiles
// begin MARGIN samples left of and above the level. The frame itself has margins, and no cells.
//
//   words       word j of row i at i * READ_WORDS + j, 4 samples left of and 2 rows above the tile
//   across      the filter's sums along the rows, of word j of row i of the tile at i * TILE_WORDS + j, from two rows above on
//   word_sums   of each word of the tile the sum of the samples, then that of their differences from the mean
__kernel FIXED_GROUP void interpolate(__global uchar *slot, Pyramid pyramid)
{
    __local uint words[READ_ROWS * READ_WORDS];
    __local uint2 across[READ_ROWS * TILE_WORDS];
    __local uint word_sums[TILE_HEIGHT * TILE_WORDS], cell_sums[TILE_CELLS];
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const Level level = level_of_tile(pyramid, (int)get_group_id(0));
    const int tile = (int)get_group_id(0) - level.first_tile;
    const int tiles_across = (level.width + 2 * MARGIN + TILE_WIDTH - 1) / TILE_WIDTH;
    const int2 corner = (int2)(tile % tiles_across * TILE_WIDTH, tile / tiles_across * TILE_HEIGHT) - MARGIN;
    __global uchar *origin = first_sample(slot, level);
    const size_t plane = (size_t)level.plane * UNIT;

    for (int start = 0; start < READ_ROWS * READ_WORDS; start += items) {
        const int i = start + item, x = corner.x - 4 + 4 * (i % READ_WORDS);
        const int y = clamp(corner.y - 2 + i / READ_WORDS, 0, level.height - 1);
        if (i < READ_ROWS * READ_WORDS)
            words[i] = read_word(origin + (size_t)y * (size_t)level.pitch, x, level.width);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int start = 0; start < READ_ROWS * TILE_WORDS; start += items) {
        const int i = start + item;
        if (i < READ_ROWS * TILE_WORDS)
            across[i] = taps_across(words + i / TILE_WORDS * READ_WORDS + i % TILE_WORDS + 1);
    }
    for (int start = 0; start < TILE_HEIGHT * TILE_WORDS; start += items) {
        const int i = start + item;
        if (i < TILE_HEIGHT * TILE_WORDS)
            word_sums[i] = add_four(words[(i / TILE_WORDS + 2) * READ_WORDS + i % TILE_WORDS + 1], 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int start = 0; start < TILE_HEIGHT * TILE_WORDS; start += items) {
        const int i = start + item, column = i % TILE_WORDS, row = i / TILE_WORDS;
        const int x = corner.x + 4 * column, y = corner.y + row;
        if (row < TILE_HEIGHT && x < level.width + MARGIN - 4 && y < level.height + MARGIN - 4) {
            __local const uint *w = words + row * READ_WORDS + column + 1;
            __local const uint2 *sums = across + i;
            const uint right = rounded(sums[2 * TILE_WORDS]);
            const uint below = rounded(six_taps(numbers_of(w[0]), numbers_of(w[READ_WORDS]), numbers_of(w[2 * READ_WORDS]),
                                                numbers_of(w[3 * READ_WORDS]), numbers_of(w[4 * READ_WORDS]),
                                                numbers_of(w[5 * READ_WORDS])));
            const uint both = rounded_both_ways(sums[0], sums[TILE_WORDS], sums[2 * TILE_WORDS], sums[3 * TILE_WORDS],
                                                sums[4 * TILE_WORDS], sums[5 * TILE_WORDS]);
            __global uchar *target = origin + ((long)y * level.pitch + x);
            *(__global uint *)(target + plane) = right;
            *(__global uint *)(target + 2 * plane) = below;
            *(__global uint *)(target + 3 * plane) = both;
            // Other groups read the level's own samples, which are there already.
            const bool is_row_outside = y < 0 || y >= level.height;
            for (int k = 0; k < 4; ++k)
                if (is_row_outside || x < 0 || x + k >= level.width)
                    target[k] = (uchar)(w[2 * READ_WORDS] >> 8 * k);
        }
    }

    // The sums of the words become those of the cells, in two rounds: the mean is needed for the second.
    const bool has_cells = level.cells > 0;
    for (int start = 0; start < TILE_CELLS; start += items) {
        const int cell = start + item;
        if (has_cells && cell < TILE_CELLS) {
            uint sum = 0;
            for (int i = 0; i < 2 * CELL; ++i)
                sum += word_sums[(cell / 8 * CELL + i / 2) * TILE_WORDS + cell % 8 * 2 + i % 2];
            cell_sums[cell] = sum;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < TILE_HEIGHT * TILE_WORDS; start += items) {
        const int i = start + item, column = i % TILE_WORDS, row = i / TILE_WORDS;
        if (has_cells && row < TILE_HEIGHT) {
            const uint mean = (cell_sums[row / CELL * 8 + column / 2] + 32) >> 6;
            const uint four = words[(row + 2) * READ_WORDS + column + 1];
            word_sums[i] = compare_four(four, mean * 0x01010101u, 0);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < TILE_CELLS; start += items) {
        const int cell = start + item;
        const int2 at = corner / CELL + (int2)(cell % 8, cell / 8);
        if (has_cells && cell < TILE_CELLS && all(at >= 0) && at.x < level.columns && at.y < level.rows) {
            uint activity = 0;
            for (int i = 0; i < 2 * CELL; ++i)
                activity += word_sums[(cell / 8 * CELL + i / 2) * TILE_WORDS + cell % 8 * 2 + i % 2];
            const uint sum = cell_sums[cell], smoothness = smoothness_of(level.first_cell == 0, activity);
            ((__global uint *)(slot + (size_t)level.cells * UNIT))[at.y * level.columns + at.x] =
                sum | (sum + 32) >> 6 << 16 | smoothness << 24;
        }
    }
}
