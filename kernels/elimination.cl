// Full search that computes few costs, our own: successive elimination on a device.
//
// It starts from W. Li and E. Salari, "Successive elimination algorithm for motion estimation" (1995): the
// sums of a part of a block and of the same part of a candidate differ by no more than their samples do.
// So the differences of the sums, added over the parts, are a lower bound of the SAD, and their squares,
// divided by the samples of a part and added, of the SSD. A candidate whose bound is greater than the best
// cost so far cannot win. If its bound equals that cost, it can win only by the order of full search, so
// not if it is further from (0, 0) than the best candidate: in flat frames that is nearly all.
//
// `sum_parts` first computes the sums of all parts of the reference: *squares*, whose side is a quarter of
// the block's, and *quarters*, whose side is half of it. Then a group takes the blocks, tiles, runs and tasks
// that groups.cl describes. In each tile:
//
//   1. `bound_runs` bounds each candidate by its 4 quarters and keeps the least bound of each run.
//      `list_first_suspects` lists the *suspects*: of each block the candidates of the least bounds, one
//      from each of FIRSTS classes of columns; those at the vectors that this block and the four around it
//      had in the last field; and (0, 0).
//   2. `bound_suspects` bounds suspects by their 16 squares and lists those that remain, the *finalists*.
//      `add_costs` computes their costs, SPLIT items a finalist, and three steps keep the best.
//   3. `list_runs` lists, once a tile, the runs whose least bound does not exceed the best cost.
//      `list_suspects` bounds their candidates again and lists those that remain as suspects, until that
//      list is full. Then 2 follows, which may improve the best. Each item remembers where it stopped.
//
// The result depends neither on the first suspects nor on the order of the lists.
//
//   small    word of the sample at (x, y), addressed as the sample is in its frame: the sums of the squares
//            that begin at (x, y), lower half, and at (x + SQUARE, y), upper half, each shifted right by
//            SQUARE_SHIFT
//   large    likewise of the quarters at (x, y) and (x + QUARTER, y), each shifted right by SHIFT
//   last     record of block b in the last field at b; next_last receives those of this search
//   vectors  record of block b at b
//   memory   local memory of a group: the arrays of `Group`, in order
//   lists    entries of the lists: see ENTRY
//
// A group may have any number of items. RUN is at most 32.

#include "common.cl"
#include "groups.cl"

// Bits of the largest sample.
#ifndef DEPTH
#define DEPTH SAMPLE_BITS
#endif
#define PEAK ((1 << DEPTH) - 1)

// Entries that each list has room for.
#ifndef LIST
#define LIST 512
#endif

// Classes of columns, each with a first suspect.
#ifndef FIRSTS
#define FIRSTS 16
#endif

// Bytes of a row of a frame. Builds for GPUs compile it in, so that the rows of a run are at known distances.
#ifndef PITCH
#define PITCH g.pitch
#endif

// First suspects of a block from the last field, and (0, 0).
#define KNOWN 6

// Words of a row of the area. An odd number, so that adjacent rows use different banks of local memory; a
// row begins up to WORD_SAMPLES - 1 samples before the first candidate.
#define AREA_WORDS (((TILE_COLUMNS + BLOCKS_ACROSS * BLOCK + WORD_SAMPLES - 2) / WORD_SAMPLES + 1) | 1)

// Sides of the parts, and samples of a quarter.
#define SQUARE (BLOCK / 4)
#define QUARTER (BLOCK / 2)
#define SAMPLES (QUARTER * QUARTER)

// Items that compute a cost together, four rows of the block each.
#define SPLIT (BLOCK / 4)

// Ranks of the candidates of a run.
#define RANKS 32

// The lower bounds of the metric.
//
//   NO_COST                greater than every cost
//   SHIFT, SQUARE_SHIFT    bits by which sums of quarters and of squares are shifted right, so that they
//                          fit 16 bits
//   Bound, NO_BOUND        a bound by quarters, and one greater than all
//   LOWER_SUM, UPPER_SUM   the two sums in a word of `large`
//   add_quarter            `bound` plus what two sums of quarters add to it
//   quarter_limit(limit)   a candidate whose bound by quarters is this or more costs `limit` or more
//   rank_bound(bound, v)   the bound of candidate v of a run, or slightly less, and v in the lowest bits;
//                          rounded to 32 bits v is the remainder by RANKS
//   rank_of(bound)         a bound by quarters in 16 bits, in the same order, where some may become equal
//   bound_of_ranked        the bound in a result of rank_bound
//   SquareBound            a bound by squares
//   add_square             `bound` plus what two sums of squares add to it
//   square_limit(limit)    a candidate whose bound by squares is this or more costs `limit` or more
//
// Sums that are shifted right differ by d >= 1 only if the sums differ by 2^SHIFT * (d - 1) + 1 or more.
#define BITS_OVER(sum, bits) max(32 - (int)clz((uint)(sum)) - (bits), 0)
#define SQUARE_SHIFT BITS_OVER(SQUARE * SQUARE * PEAK, 16)
#if METRIC == METRIC_SAD
// Bounds by quarters are floats: their arithmetic is at least as fast, and exact here, because sums and
// bounds, also times RANKS, are less than 2^24. A sum has 2^23 added, which is the exponent above its bits.
#define NO_COST 0x7fffffffu
#define SHIFT BITS_OVER(SAMPLES * PEAK, 16)
typedef float Bound;
typedef uint SquareBound;
#define LOWER_SUM(word) as_float(((word) & 0xffff) | 0x4b000000u)
#define UPPER_SUM(word) as_float((word) >> 16 | 0x4b000000u)

static inline Bound add_quarter(Bound bound, Bound a, Bound b)
{
    return bound + fabs(a - b);
}

// cost >= sum of (2^SHIFT * d - (2^SHIFT - 1)) over four quarters.
static inline uint quarter_limit(uint limit)
{
    return (limit + 5 * ((1 << SHIFT) - 1)) >> SHIFT;
}

static inline Bound rank_bound(Bound bound, int v)
{
    return bound * (float)RANKS + (float)v;
}

static inline uint bound_of_ranked(uint ranked)
{
    return ranked / RANKS;
}

static inline uint rank_of(uint bound)
{
    return min(bound, 65535u);
}

static inline SquareBound add_square(SquareBound bound, uint a, uint b)
{
    return bound + abs_diff(a, b);
}

// Likewise over 16 squares.
static inline SquareBound square_limit(uint limit)
{
    return (limit + 17 * ((1 << SQUARE_SHIFT) - 1)) >> SQUARE_SHIFT;
}
#elif METRIC == METRIC_SSD
// The squares of four differences of quarters fit a word.
#define NO_COST 0xfffffffeu
#define SHIFT BITS_OVER(SAMPLES * PEAK, 15)
typedef uint Bound;
typedef ulong SquareBound;
#define LOWER_SUM(word) ((word) & 0xffff)
#define UPPER_SUM(word) ((word) >> 16)

static inline Bound add_quarter(Bound bound, Bound a, Bound b)
{
    const uint difference = abs_diff(a, b), d = SHIFT > 0 ? max(difference, 1u) - 1 : difference;
    return bound + d * d;
}

// cost >= sum of (2^SHIFT * d)^2 / SAMPLES, by the inequality of the quadratic mean.
static inline uint quarter_limit(uint limit)
{
    const ulong scaled = ((ulong)limit * SAMPLES + (1 << 2 * SHIFT) - 1) >> 2 * SHIFT;
    return (uint)min(scaled, (ulong)UINT_MAX);
}

static inline Bound rank_bound(Bound bound, int v)
{
    return (bound & ~(uint)(RANKS - 1)) | (uint)v;
}

static inline uint bound_of_ranked(uint ranked)
{
    return ranked;
}

static inline uint rank_of(uint bound)
{
    return bound >> 16;
}

static inline SquareBound add_square(SquareBound bound, uint a, uint b)
{
    const uint difference = abs_diff(a, b), d = SQUARE_SHIFT > 0 ? max(difference, 1u) - 1 : difference;
    return bound + (ulong)d * d;
}

static inline SquareBound square_limit(uint limit)
{
    return ((ulong)limit * (SQUARE * SQUARE) + (1 << 2 * SQUARE_SHIFT) - 1) >> 2 * SQUARE_SHIFT;
}
#endif
#define NO_BOUND ((Bound)UINT_MAX)

// `sum` plus the samples in `word`.
static inline uint sum_word(uint word, uint sum)
{
#if SAMPLE_BITS > 8
    return sum + (word & 0xffff) + (word >> 16);
#elif HAS_ADD_DIFFERENCES
    return add_differences(word, 0, sum);
#else
    const uint pairs = (word & 0x00ff00ff) + (word >> 8 & 0x00ff00ff);
    return sum + (pairs & 0xffff) + (pairs >> 16);
#endif
}

// Rows of the frame that a search reaches, from the window's first row on.
#define REACHED_ROWS (g.rows * BLOCK + g.window_rows - 1)

// Samples for which a group of `sum_parts` computes sums, and the squares that it needs for them.
#define SUM_COLUMNS 128
#define SUM_ROWS 16
#define SQUARES_ACROSS (SUM_COLUMNS + (3 * SQUARE + 3) / 4 * 4)
#define SQUARES_DOWN (SUM_ROWS + SQUARE)

// The sum of a square.
#if SAMPLE_BITS > 8
typedef uint SquareSum;
#else
typedef ushort SquareSum;
#endif

// Words of sums in a row: one a sample of a row of the frame.
#define SUM_PITCH (PITCH / (int)sizeof(sample_t))

// Computes `small` and `large` for each sample that a search reaches. Parts that extend past those belong to
// no candidate; they repeat the last word or row.
__kernel FIXED_GROUP void sum_parts(__global const uchar *restrict frame, __global uint *restrict small,
                                    __global uint *restrict large, Geometry g)
{
    __local SquareSum squares[SQUARES_ACROSS * SQUARES_DOWN];
    const int item = (int)get_local_id(0), words = g.pitch / 4, top = g.top + g.y0;
    const int left = (int)get_group_id(0) * SUM_COLUMNS, first = (int)get_group_id(1) * SUM_ROWS;

    for (int unit = item; unit < SQUARES_ACROSS / WORD_SAMPLES * SQUARES_DOWN; unit += ITEMS) {
        const int across = unit % (SQUARES_ACROSS / WORD_SAMPLES), down = unit / (SQUARES_ACROSS / WORD_SAMPLES);
        const int word = left / WORD_SAMPLES + across;
        uint sums[WORD_SAMPLES];
#pragma unroll
        for (int s = 0; s < WORD_SAMPLES; ++s)
            sums[s] = 0;
#pragma unroll
        for (int k = 0; k < SQUARE; ++k) {
            const int row = top + min(first + down + k, REACHED_ROWS - 1);
            __global const uint *line = (__global const uint *)(frame + (size_t)row * (size_t)g.pitch);
            uint low = line[min(word, words - 1)];
#pragma unroll
            for (int n = 0; n < (SQUARE + WORD_SAMPLES - 1) / WORD_SAMPLES; ++n) {
                const uint high = line[min(word + n + 1, words - 1)];
                const int rest = SQUARE - WORD_SAMPLES * n;
                const uint mask =
                    rest >= WORD_SAMPLES ? UINT_MAX : (1u << SAMPLE_BITS * (rest & (WORD_SAMPLES - 1))) - 1;
#pragma unroll
                for (int s = 0; s < WORD_SAMPLES; ++s)
                    sums[s] = sum_word(join_words(low, high, (uint)s) & mask, sums[s]);
                low = high;
            }
        }
#pragma unroll
        for (int s = 0; s < WORD_SAMPLES; ++s)
            squares[down * SQUARES_ACROSS + WORD_SAMPLES * across + s] = (SquareSum)sums[s];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int unit = item; unit < SUM_COLUMNS / 4 * SUM_ROWS; unit += ITEMS) {
        const int x = unit % (SUM_COLUMNS / 4) * 4, y = unit / (SUM_COLUMNS / 4);
        __local const SquareSum *upper = squares + y * SQUARES_ACROSS + x, *lower = upper + SQUARE * SQUARES_ACROSS;
        uint small_words[4], large_words[4];
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const uint a = upper[s], b = upper[s + SQUARE];
            const uint c = upper[s + 2 * SQUARE], d = upper[s + 3 * SQUARE];
            const uint one = a + b + lower[s] + lower[s + SQUARE];
            const uint two = c + d + lower[s + 2 * SQUARE] + lower[s + 3 * SQUARE];
            small_words[s] = a >> SQUARE_SHIFT | b >> SQUARE_SHIFT << 16;
            large_words[s] = one >> SHIFT | two >> SHIFT << 16;
        }
        if (left + x < words * WORD_SAMPLES && first + y < REACHED_ROWS) {
            const size_t place = (size_t)(top + first + y) * (size_t)(words * WORD_SAMPLES) + (size_t)(left + x);
            *(__global uint4 *)(small + place) = vload4(0, small_words);
            *(__global uint4 *)(large + place) = vload4(0, large_words);
        }
    }
}

// A group: its arrays in local memory, in order, its blocks and its tile. "block" counts the group's
// blocks row by row.
typedef struct {
    __local uint *samples;      // word j of row i of a block at (block * BLOCK + i) * BLOCK_WORDS + j
    __local uint *squares;      // sums of the blocks' squares, 16 a block, row by row
    __local uint *quarters;     // sums of the blocks' quarters, 4 a block, shifted right by SHIFT
    __local uint *firsts;       // of class c of a block at block * FIRSTS + c: rank of the least bound and,
                                // in the lower 16 bits, its candidate, counted through the tile row by row
    __local uint *costs;        // best cost of each block
    __local uint *ties;         // lower half of the order key of the best candidate of each block
    __local uint *known_costs;  // cost that the tie of each block belongs to
    __local uint *suspects;     // entries
    __local uint *finalists;    // entries
    __local uint *sums;         // costs of the finalists
    __local uint *lengths;      // of three lists: SUSPECTS, FINALISTS and LISTED_RUNS
    __local uint *area;         // word j of the area's row i at i * AREA_WORDS + j
    __local ushort *least;      // rank of the least bound of each task
    __local ushort *runs;       // tasks whose run may have suspects
    int column, row;            // the group's first block in the grid
    int tile_x, tile_y;         // the tile's first candidate, counted from the window's first
} Group;

#define SUSPECTS 0
#define FINALISTS 1
#define LISTED_RUNS 2

// An entry of `suspects` and `finalists`: a block, and row and column of a candidate in the window.
#define ENTRY(block, column, row) ((uint)(block) << 28 | (uint)(row) << 14 | (uint)(column))
#define BLOCK_OF(entry) ((entry) >> 28)
#define COLUMN_OF(entry) ((int)((entry) & 0x3fff))
#define ROW_OF(entry) ((int)((entry) >> 14 & 0x3fff))

// Column and row of a block of the group in the grid.
#define GRID_COLUMN(block) (group.column + (int)((block) % BLOCKS_ACROSS))
#define GRID_ROW(block) (group.row + (int)((block) / BLOCKS_ACROSS))

// A candidate of a block whose cost or bound is less than this may win, if it is `length` = |x| + |y| from
// (0, 0): with the best cost it may win unless it is further away than the best candidate.
#define LIMIT(block, length) (group.costs[block] + ((uint)(length) <= group.ties[block] >> 16 ? 1 : 0))

// The word of sums of the sample at (x, y).
static inline __global const uint *sums_at(__global const uint *sums, Geometry g, int x, int y)
{
    const int pitch = g.pitch / (int)sizeof(sample_t), left = g.left / (int)sizeof(sample_t);
    return sums + (size_t)(y + g.top) * (size_t)pitch + (size_t)(x + left);
}

static inline Group make_group(__local uint *memory, GroupShape shape, Geometry g)
{
    Group group;
    group.samples = memory;
    group.squares = group.samples + BLOCKS * BLOCK * BLOCK_WORDS;
    group.quarters = group.squares + BLOCKS * 16;
    group.firsts = group.quarters + BLOCKS * 4;
    group.costs = group.firsts + BLOCKS * FIRSTS;
    group.ties = group.costs + BLOCKS;
    group.known_costs = group.ties + BLOCKS;
    group.suspects = group.known_costs + BLOCKS;
    group.finalists = group.suspects + LIST;
    group.sums = group.finalists + LIST;
    group.lengths = group.sums + LIST;
    group.area = group.lengths + 3;
    group.least = (__local ushort *)(group.area + AREA_WORDS * AREA_ROWS);
    group.runs = group.least + TASKS;
    group.column = min((int)get_group_id(0) * BLOCKS_ACROSS, g.columns - BLOCKS_ACROSS);
    group.row = min((int)get_group_id(1) * BLOCKS_DOWN, g.rows - BLOCKS_DOWN);
    return group;
}

// Loads the blocks and clears what is kept for them.
static inline void load_blocks(Group group, __global const uchar *current, uint item, GroupShape shape, Geometry g)
{
    for (uint i = item; i < BLOCKS * BLOCK * BLOCK_WORDS; i += ITEMS) {
        const uint word = i % BLOCK_WORDS, line = i / BLOCK_WORDS % BLOCK, block = i / (BLOCK_WORDS * BLOCK);
        const int x = GRID_COLUMN(block) * BLOCK, y = GRID_ROW(block) * BLOCK + (int)line;
        group.samples[i] = ((__global const uint *)sample_at(current, g, x, y))[word];
    }
    for (uint i = item; i < BLOCKS; i += ITEMS) {
        group.costs[i] = NO_COST;
        group.known_costs[i] = NO_COST;
        group.ties[i] = UINT_MAX;
    }
    for (uint i = item; i < 3; i += ITEMS)
        group.lengths[i] = 0;
}

static inline void sum_squares(Group group, uint item, GroupShape shape)
{
    for (uint i = item; i < BLOCKS * 16; i += ITEMS) {
        const uint x = i % 4 * SQUARE, y = i / 4 % 4 * SQUARE, block = i / 16;
        __local const sample_t *from =
            (__local const sample_t *)(group.samples + block * BLOCK * BLOCK_WORDS) + y * BLOCK + x;
        uint sum = 0;
        for (int k = 0; k < SQUARE * SQUARE; ++k)
            sum += from[k / SQUARE * BLOCK + k % SQUARE];
        group.squares[i] = sum;
    }
}

static inline void sum_quarters(Group group, uint item, GroupShape shape)
{
    for (uint i = item; i < BLOCKS * 4; i += ITEMS) {
        __local const uint *from = group.squares + i / 4 * 16 + i / 2 % 2 * 8 + i % 2 * 2;
        group.quarters[i] = (from[0] + from[1] + from[4] + from[5]) >> SHIFT;
    }
}

// Loads the area of the tile, whose first sample is (x, y), and clears what is kept for the tile.
static inline void load_area(Group group, __global const uchar *reference, int x, int y, uint item,
                             GroupShape shape, Geometry g)
{
    __global const uchar *corner = sample_at(reference, g, x, y);
    // An item loads several words before it stores the first.
#pragma unroll 8
    for (uint w = item; w < AREA_WORDS * AREA_ROWS; w += ITEMS)
        group.area[w] = ((__global const uint *)(corner + w / AREA_WORDS * (uint)PITCH))[w % AREA_WORDS];
    for (uint i = item; i < BLOCKS * FIRSTS; i += ITEMS)
        group.firsts[i] = UINT_MAX;
    if (item == 0)
        group.lengths[LISTED_RUNS] = 0;
}

// The bounds by quarters of a run, whose first candidate has the word of sums `from`.
static inline void bound_run(Bound *bounds, __global const uint *from, int pitch, __local const uint *own)
{
    const Bound upper_left = LOWER_SUM(own[0]), upper_right = LOWER_SUM(own[1]);
    const Bound lower_left = LOWER_SUM(own[2]), lower_right = LOWER_SUM(own[3]);
#pragma unroll
    for (int i = 0; i < RUN + QUARTER; ++i)
        if (i < RUN || i >= QUARTER) {
            const uint word = from[i * pitch];
            const Bound left = LOWER_SUM(word), right = UPPER_SUM(word);
            if (i < RUN)
                bounds[i] = add_quarter(add_quarter(0, left, upper_left), right, upper_right);
            if (i >= QUARTER)
                bounds[i - QUARTER] =
                    add_quarter(add_quarter(bounds[i - QUARTER], left, lower_left), right, lower_right);
        }
}

// Finds the least bound of each run, and the first suspects of each class of columns.
static inline void bound_runs(Group group, __global const uint *large, uint item, GroupShape shape, Geometry g)
{
    for (uint task = item; task < TASKS; task += ITEMS) {
        const uint block = TASK_BLOCK(task);
        const int across = TASK_COLUMN(task), down = FIRST_ROW(TASK_RUN(task));
        const int x = GRID_COLUMN(block) * BLOCK + g.x0 + group.tile_x + across;
        const int y = GRID_ROW(block) * BLOCK + g.y0 + group.tile_y + down;
        Bound bounds[RUN], best = NO_BOUND;
        bound_run(bounds, sums_at(large, g, x, y), SUM_PITCH, group.quarters + block * 4);
        const int first = first_that_counts(g, x, y), last = last_that_counts(g, y);
#pragma unroll
        for (int v = 0; v < RUN; ++v) {
            const Bound ranked = rank_bound(bounds[v], v);
            best = min(best, first <= v && v <= last ? ranked : NO_BOUND);
        }
        const uint ranked = best < NO_BOUND ? (uint)best : UINT_MAX;
        const uint rank = rank_of(bound_of_ranked(ranked));
        group.least[task] = (ushort)rank;
        if (ranked < UINT_MAX)
            atomic_min(&group.firsts[block * FIRSTS + (uint)across % FIRSTS],
                       rank << 16 | (uint)((down + (int)(ranked % RANKS)) * TILE_COLUMNS + across));
    }
}

// Lists the first suspects: of each class of columns, and at the vectors of the last field.
static inline void list_first_suspects(Group group, __global const MotionVector *last, uint item,
                                       GroupShape shape, Geometry g)
{
    for (uint i = item; i < BLOCKS * FIRSTS; i += ITEMS) {
        const uint first = group.firsts[i], candidate = first & 0xffff;
        if (first < UINT_MAX)
            group.suspects[atomic_inc(&group.lengths[SUSPECTS])] =
                ENTRY(i / FIRSTS, group.tile_x + (int)(candidate % (uint)TILE_COLUMNS),
                      group.tile_y + (int)(candidate / (uint)TILE_COLUMNS));
    }
    for (uint i = item; i < BLOCKS * KNOWN; i += ITEMS) {
        const uint block = i / KNOWN, known = i % KNOWN;
        const int c = GRID_COLUMN(block), r = GRID_ROW(block);
        const int near_c = clamp(c + (known == 1) - (known == 2), 0, g.columns - 1);
        const int near_r = clamp(r + (known == 3) - (known == 4), 0, g.rows - 1);
        const MotionVector vector = last[(near_r + g.above / BLOCK) * g.columns + near_c];
        const int x = known == 5 ? 0 : vector.x / 4, y = known == 5 ? 0 : vector.y / 4;
        const uint across = (uint)(x - g.x0 - group.tile_x), down = (uint)(y - g.y0 - group.tile_y);
        if (across < (uint)TILE_COLUMNS && down < (uint)TILE_ROWS && counts(g, c, r, x, y))
            group.suspects[atomic_inc(&group.lengths[SUSPECTS])] = ENTRY(block, x - g.x0, y - g.y0);
    }
}

// Bounds the suspects by their squares and lists those that may win as finalists.
static inline void bound_suspects(Group group, __global const uint *small, uint item, GroupShape shape, Geometry g)
{
    const uint suspected = min(group.lengths[SUSPECTS], (uint)LIST);
    for (uint i = item; i < suspected; i += ITEMS) {
        const uint entry = group.suspects[i], block = BLOCK_OF(entry);
        const int x = g.x0 + COLUMN_OF(entry), y = g.y0 + ROW_OF(entry);
        __global const uint *from =
            sums_at(small, g, GRID_COLUMN(block) * BLOCK + x, GRID_ROW(block) * BLOCK + y);
        __local const uint *own = group.squares + block * 16;
        SquareBound bound = 0;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const uint word = from[k / 2 * SQUARE * SUM_PITCH + k % 2 * QUARTER];
            bound = add_square(bound, word & 0xffff, own[2 * k] >> SQUARE_SHIFT);
            bound = add_square(bound, word >> 16, own[2 * k + 1] >> SQUARE_SHIFT);
        }
        if (bound < square_limit(LIMIT(block, abs(x) + abs(y)))) {
            const uint place = atomic_inc(&group.lengths[FINALISTS]);
            group.finalists[place] = entry;
            group.sums[place] = 0;
        }
    }
}

// Adds up the costs of the finalists. The area begins `skew` samples before the tile's first candidate.
static inline void add_costs(Group group, uint finalists, int skew, uint item, GroupShape shape)
{
    for (uint i = item; i < finalists * SPLIT; i += ITEMS) {
        const uint entry = group.finalists[i / SPLIT], block = BLOCK_OF(entry), line = i % SPLIT * 4;
        const int x = (int)(block % BLOCKS_ACROSS) * BLOCK + COLUMN_OF(entry) - group.tile_x + skew;
        const int y = (int)(block / BLOCKS_ACROSS * BLOCK + line) + ROW_OF(entry) - group.tile_y;
        const uint shift = (uint)x & (WORD_SAMPLES - 1);
        __local const uint *words = group.area + y * AREA_WORDS + x / WORD_SAMPLES;
        __local const uint *own = group.samples + (block * BLOCK + line) * BLOCK_WORDS;
        uint cost = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k, words += AREA_WORDS) {
            uint low = words[0];
#pragma unroll
            for (int j = 0; j < BLOCK_WORDS; ++j) {
                const uint high = words[j + 1];
                cost = compare_word(own[k * BLOCK_WORDS + j], join_words(low, high, shift), cost);
                low = high;
            }
        }
        atomic_add(&group.sums[i / SPLIT], cost);
    }
}

static inline void keep_costs(Group group, uint finalists, uint item, GroupShape shape)
{
    for (uint i = item; i < finalists; i += ITEMS)
        atomic_min(&group.costs[BLOCK_OF(group.finalists[i])], group.sums[i]);
}

// Discards the ties of costs that were improved on, and empties the lists of suspects and finalists.
static inline void clear_ties(Group group, uint item, GroupShape shape)
{
    for (uint i = item; i < BLOCKS; i += ITEMS)
        if (group.costs[i] != group.known_costs[i]) {
            group.known_costs[i] = group.costs[i];
            group.ties[i] = UINT_MAX;
        }
    for (uint i = item; i < 2; i += ITEMS)
        group.lengths[i] = 0;
}

static inline void keep_ties(Group group, uint finalists, uint item, GroupShape shape, Geometry g)
{
    for (uint i = item; i < finalists; i += ITEMS) {
        const uint entry = group.finalists[i], block = BLOCK_OF(entry);
        if (group.sums[i] == group.costs[block])
            atomic_min(&group.ties[block], (uint)order_key(0, g.x0 + COLUMN_OF(entry), g.y0 + ROW_OF(entry)));
    }
}

// Lists the runs whose least bound does not exceed the best cost, of `tasks` tasks.
static inline void list_runs(Group group, uint tasks, uint item, GroupShape shape)
{
    for (uint task = item; task < tasks; task += ITEMS) {
        const uint limit = quarter_limit(group.costs[TASK_BLOCK(task)] + 1);
        if (group.least[task] <= rank_of(limit - 1))
            group.runs[atomic_inc(&group.lengths[LISTED_RUNS])] = (ushort)task;
    }
}

// Lists suspects of the listed runs until the list is full. next_run: the item's next listed run; left: a
// bit for each candidate of that run that the item has still to list.
static inline void list_suspects(Group group, __global const uint *large, uint *next_run, uint *left, uint item,
                                 GroupShape shape, Geometry g)
{
    const uint count = group.lengths[LISTED_RUNS];
    bool is_full = false;
    while (*next_run < count && !is_full) {
        const uint task = group.runs[*next_run], block = TASK_BLOCK(task);
        const int across = group.tile_x + (int)TASK_COLUMN(task);
        const int down = group.tile_y + FIRST_ROW(TASK_RUN(task));
        const int x = g.x0 + across, y = g.y0 + down;
        const int nearest = (int)abs(clamp(0, y, y + RUN - 1));
        const uint limit = quarter_limit(LIMIT(block, (int)abs(x) + nearest));
        if (*left == 0 && limit > 0 && group.least[task] <= rank_of(limit - 1)) {
            const int block_x = GRID_COLUMN(block) * BLOCK + x, block_y = GRID_ROW(block) * BLOCK + y;
            Bound bounds[RUN];
            bound_run(bounds, sums_at(large, g, block_x, block_y), SUM_PITCH, group.quarters + block * 4);
            const int first = first_that_counts(g, block_x, block_y), last = last_that_counts(g, block_y);
#pragma unroll
            for (int v = 0; v < RUN; ++v)
                *left |= bounds[v] < (Bound)limit && first <= v && v <= last ? 1u << v : 0;
        }
        // One by one, so that items in step, which have adjacent columns, list adjacent candidates.
        while (*left != 0 && !is_full) {
            const uint place = atomic_inc(&group.lengths[SUSPECTS]);
            is_full = place >= LIST;
            if (!is_full)
                group.suspects[place] = ENTRY(block, across, down + 31 - (int)clz(*left & (~*left + 1)));
            *left = is_full ? *left : *left & (*left - 1);
        }
        if (!is_full)
            *next_run += ITEMS;
    }
}

__kernel FIXED_GROUP void elimination(__global const uchar *restrict current,
                                      __global const uchar *restrict reference,
                                      __global const uint *restrict small,
                                      __global const uint *restrict large,
                                      __global const MotionVector *restrict last,
                                      __global MotionVector *restrict next_last,
                                      __global MotionVector *restrict vectors, __local uint *memory,
                                      GroupShape shape, Geometry g)
{
    const uint item = (uint)get_local_id(0);
    Group group = make_group(memory, shape, g);
    load_blocks(group, current, item, shape, g);
    barrier(CLK_LOCAL_MEM_FENCE);
    sum_squares(group, item, shape);
    barrier(CLK_LOCAL_MEM_FENCE);
    sum_quarters(group, item, shape);

    for (int next_y = 0; next_y < WINDOW_ROWS; next_y += TILE_ROWS) {
        for (int next_x = 0; next_x < WINDOW_COLUMNS; next_x += TILE_COLUMNS) {
            group.tile_x = min(next_x, WINDOW_COLUMNS - TILE_COLUMNS);
            group.tile_y = min(next_y, WINDOW_ROWS - TILE_ROWS);
            const int x = group.column * BLOCK + g.x0 + group.tile_x, skew = x & (WORD_SAMPLES - 1);
            const int y = group.row * BLOCK + g.y0 + group.tile_y;

            load_area(group, reference, x - skew, y, item, shape, g);
            barrier(CLK_LOCAL_MEM_FENCE);
            bound_runs(group, large, item, shape, g);
            barrier(CLK_LOCAL_MEM_FENCE);
            list_first_suspects(group, last, item, shape, g);
            barrier(CLK_LOCAL_MEM_FENCE);

            uint next_run = item, left = 0;
            bool is_first = true;
            do {
                bound_suspects(group, small, item, shape, g);
                barrier(CLK_LOCAL_MEM_FENCE);
                const uint finalists = group.lengths[FINALISTS];
                add_costs(group, finalists, skew, item, shape);
                barrier(CLK_LOCAL_MEM_FENCE);
                keep_costs(group, finalists, item, shape);
                barrier(CLK_LOCAL_MEM_FENCE);
                clear_ties(group, item, shape);
                barrier(CLK_LOCAL_MEM_FENCE);
                keep_ties(group, finalists, item, shape, g);
                barrier(CLK_LOCAL_MEM_FENCE);
                list_runs(group, is_first ? TASKS : 0, item, shape);
                barrier(CLK_LOCAL_MEM_FENCE);
                list_suspects(group, large, &next_run, &left, item, shape, g);
                is_first = false;
                barrier(CLK_LOCAL_MEM_FENCE);
            } while (group.lengths[SUSPECTS] != 0);
        }
    }

    for (uint i = item; i < BLOCKS; i += ITEMS) {
        const int c = GRID_COLUMN(i), r = GRID_ROW(i);
        if (c >= (int)get_group_id(0) * BLOCKS_ACROSS && r >= (int)get_group_id(1) * BLOCKS_DOWN) {
            const MotionVector vector = vector_of_key((ulong)group.costs[i] << 32 | group.ties[i]);
            vectors[r * g.columns + c] = vector;
            next_last[(r + g.above / BLOCK) * g.columns + c] = vector;
        }
    }
}
