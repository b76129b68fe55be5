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
                target[here.y * level.pitch + here.x] = tile[i];
        }
    }
}

// The word at `s`, smoothed: two sums at a time in the halves of a word.
static inline uint smooth_word(__local const uint *s)
{
    const uint word = s[0];
    const uint2 numbers = numbers_of(word);
    // Those of the samples to the left, and to the right.
    const uint2 left = (uint2)(s[-1] >> 24 | (word << 8 & 0xff0000u), numbers.x);
    const uint2 right = (uint2)(numbers.y, (word >> 16 & 0xffu) | (s[1] & 0xffu) << 16);
    const uint2 sums = numbers_of(s[-SOURCE_WORDS]) + numbers_of(s[SOURCE_WORDS]) + left + right + 4u * numbers +
                       0x00040004u;
    return (sums.x >> 3 & 0x00ff00ffu) | (sums.y >> 3 & 0x00ff00ffu) << 8;
}

// Makes the levels `level_1` to `level_3` below `level`, and `finest`, the smoothed frame, if `level` is the frame; not
// those without a width. A group makes what is below 64 x 64 samples of `level`, and computes what surrounds its tiles
// again, so that no group waits for another.
__kernel FIXED_GROUP void halve(__global uchar *slot, Level level, Level finest, Level level_1, Level level_2,
                                Level level_3)
{
    __local uint source_words[SOURCE_ROWS * SOURCE_WORDS];
    __local uchar tile_1[TILE_1 * TILE_1], tile_2[TILE_2 * TILE_2], tile_3[TILE_3 * TILE_3];
    __local uchar *source = (__local uchar *)source_words;
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int2 tile = (int2)((int)get_group_id(0), (int)get_group_id(1)), corner = tile * SOURCE_SIDE - 8;
    for (int start = 0; start < SOURCE_ROWS * SOURCE_WORDS; start += items) {
        const int i = start + item, x = corner.x + 4 * (i % SOURCE_WORDS);
        if (i < SOURCE_ROWS * SOURCE_WORDS) {
            const int y = clamp(corner.y + 1 + i / SOURCE_WORDS, 0, level.height - 1);
            source_words[i] = read_word(first_sample(slot, level) + y * level.pitch, x, level.width);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int start = 0; start < SOURCE_SIDE * SOURCE_SIDE / 4; start += items) {
        const int i = start + item, x = i % (SOURCE_SIDE / 4) * 4, y = i / (SOURCE_SIDE / 4);
        const int2 at = tile * SOURCE_SIDE + (int2)(x, y);
        if (y < SOURCE_SIDE && at.x < finest.width && at.y < finest.height) {
            // The last word of a row may pass its end: `interpolate` writes the margin afterwards.
            *(__global uint *)(first_sample(slot, finest) + (at.y * finest.pitch + at.x)) =
                smooth_word(source_words + (y + 7) * SOURCE_WORDS + x / 4 + 2);
        }
    }
    // The first sample of the source tile is one further left than that of the rows.
    if (level_1.width > 0)
        halve_tile(source + 1, SOURCE_PITCH, tile_1, TILE_1, tile * (SOURCE_SIDE / 2) - 3, 3, slot, level_1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (level_2.width > 0)
        halve_tile(tile_1, TILE_1, tile_2, TILE_2, tile * (SOURCE_SIDE / 4) - 1, 1, slot, level_2);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (level_3.width > 0)
        halve_tile(tile_2, TILE_2, tile_3, TILE_3, tile * (SOURCE_SIDE / 8), 0, slot, level_3);
}

// A tile of `interpolate`, and the words of a row, and rows, that its filters read.
#define TILE_WIDTH 128
#define TILE_HEIGHT 32
#define TILE_WORDS (TILE_WIDTH / 4)
#define READ_WORDS (TILE_WORDS + 2)
#define READ_ROWS (TILE_HEIGHT + 5)

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

// The nearer of each of four samples to 0 and 255: how far it is.
static inline uint reach_of(uint samples)
{
    return samples ^ ((samples >> 7 & 0x01010101u) * 0xff);
}

// The smaller ones of four numbers of at most 127 each.
static inline uint min_four(uint a, uint b)
{
    const uint differences = (a | 0x80808080u) - b;
    const uint is_less = (differences >> 7 & 0x01010101u) * 0xff;
    return (b & is_less) | (a & ~is_less);
}

// The word of the cell at `words`, whose rows are READ_WORDS apart.
static inline uint word_of_cell(bool is_finest, __local const uint *words)
{
    uint sum = 0, activity = 0, reach = 0x7f7f7f7fu;
    for (int row = 0; row < CELL; ++row)
        sum = add_four(words[row * READ_WORDS], add_four(words[row * READ_WORDS + 1], sum));
    const uint mean = (sum + 32) >> 6;
    for (int row = 0; row < CELL; ++row) {
        const uint left = words[row * READ_WORDS], right = words[row * READ_WORDS + 1];
        activity = compare_four(left, mean * 0x01010101u, compare_four(right, mean * 0x01010101u, activity));
        reach = min_four(reach, min_four(reach_of(left), reach_of(right)));
    }
    reach = min(min(reach & 0xff, reach >> 8 & 0xff), min(reach >> 16 & 0xff, reach >> 24));
    return sum | mean << 16 | smoothness_of(is_finest, activity) << 24 | min(reach / 2, 31u) << 27;
}

// Writes the planes of half samples of a tile and the margin of plane 0, and the words of the tile's cells. Tiles
// begin MARGIN samples left of and above the level. The frame itself has margins, and no cells.
//
//   words  word j of row i at i * READ_WORDS + j, 4 samples left of and 2 rows above the tile
//
// An item makes the words of CELL rows, one below the other, so that six rows share what is computed along each.
__kernel FIXED_GROUP void interpolate(__global uchar *slot, Pyramid pyramid)
{
    __local uint words[READ_ROWS * READ_WORDS];
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
            words[i] = read_word(origin + y * level.pitch, x, level.width);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int start = 0; start < TILE_WORDS * (TILE_HEIGHT / CELL); start += items) {
        const int i = start + item, column = i % TILE_WORDS, top = i / TILE_WORDS * CELL;
        const int x = corner.x + 4 * column, y = corner.y + top;
        __local const uint *from = words + top * READ_WORDS + column + 1;
        // Of each row the numbers of the word, and their sums along the row.
        uint2 numbers[CELL + 5], across[CELL + 5];
        const bool is_tile = i < TILE_WORDS * (TILE_HEIGHT / CELL);
        const int rows = is_tile && x < level.width + MARGIN - 4 ? level.height + MARGIN - 4 - y : -5;
#pragma unroll
        for (int row = 0; row < CELL + 5; ++row) {
            if (row < rows + 5) {
                __local const uint *w = from + row * READ_WORDS;
                numbers[row] = numbers_of(w[0]);
                across[row] = taps_between(numbers_of(w[-1]), numbers[row], numbers_of(w[1]));
            }
            if (row >= 5 && row < rows + 5) {
                const int above = row - 5, at = y + above;
                const uint2 *n = numbers + above, *sums = across + above;
                __global uchar *target = origin + ((long)at * level.pitch + x);
                *(__global uint *)(target + plane) = rounded(sums[2]);
                *(__global uint *)(target + 2 * plane) = rounded(six_taps(n[0], n[1], n[2], n[3], n[4], n[5]));
                *(__global uint *)(target + 3 * plane) =
                    rounded_both_ways(sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]);
                // Other groups read the level's own samples, which are there already.
                const bool is_row_outside = at < 0 || at >= level.height;
                if (is_row_outside || x < 0 || x + 3 >= level.width)
                    for (int k = 0; k < 4; ++k)
                        if (is_row_outside || x < 0 || x + k >= level.width)
                            target[k] = (uchar)(from[(above + 2) * READ_WORDS] >> 8 * k);
            }
        }
    }

    for (int start = 0; start < TILE_WIDTH / CELL * (TILE_HEIGHT / CELL); start += items) {
        const int i = start + item, column = i % (TILE_WIDTH / CELL), row = i / (TILE_WIDTH / CELL);
        const int2 at = corner / CELL + (int2)(column, row);
        if (level.cells > 0 && row < TILE_HEIGHT / CELL && all(at >= 0) && at.x < level.columns && at.y < level.rows)
            ((__global uint *)(slot + (size_t)level.cells * UNIT))[at.y * level.columns + at.x] = word_of_cell(
                level.first_cell == 0, words + (row * CELL + 2) * READ_WORDS + column * CELL / 4 + 1);
    }
}
