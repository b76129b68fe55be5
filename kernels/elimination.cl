// Full search that computes the costs of few candidates, our own: successive elimination on a device.
//
// What W. Li and E. Salari, "Successive elimination algorithm for motion estimation" (1995), begin with:
// the sum of a part of a block and that of the same part of a candidate differ by no more than their
// samples do. So the differences of the sums, added over the parts, are a lower bound of the SAD; and
// their squares over the samples of a part, added, of the SSD. A candidate whose bound is worse than
// the best cost so far cannot win. One whose bound equals it can win by the order of full search alone,
// and does not where it is further away than the best: in flat frames, that are nearly all.
//
// Before the search, the sums of all parts that may be needed are laid beside the reference: of
// *squares*, a quarter of the block's side, and of *quarters*, half of it. Then a group takes
// BLOCKS_ACROSS x BLOCKS_DOWN adjacent blocks and goes through the window in tiles:
//
//   1. A *task* is a block and a *run* of RUN candidates, one under the other, which share the words
//      of sums that they need. Each candidate is bounded by its 4 quarters; the least bound of a run is
//      kept, and the candidates of the least bounds of a block, one from each of FIRSTS classes of
//      columns, are the first to be suspected. So are those at the vectors that this block and the
//      four around it had in the last field, and at zero.
//   2. Suspects are bounded by their 16 squares. The costs of those that remain are computed, SPLIT
//      items a candidate, and the best is kept.
//   3. Runs whose least bound is not worse than the best are bounded again, and what is not
//      eliminated is suspected, until the list is full; then it goes on with 2, where the best has
//      got better by then. Items remember how far they came.
//
// The result does not depend on what is suspected first, nor on the order of the lists.
//
//   small    word of the sample at (x, y), where the sample is in its frame: the sums of the squares
//            that begin at (x, y), lower half, and at (x + SQUARE, y), upper half
//   large    the same of the quarters at (x, y) and (x + QUARTER, y), each shifted right by SHIFT
//   entries  of the lists: block of the group from bit 28, row of the window from bit 14, column
//
// A group may have any number of items.

#include "common.cl"

// Candidates in a run, at most 32.
#ifndef RUN
#define RUN 4
#endif

// Room of each list.
#ifndef LIST
#define LIST 512
#endif

// Classes of columns, each of which suspects a candidate at first.
#ifndef FIRSTS
#define FIRSTS 16
#endif

// Vectors of the last field, with zero, that are suspected at first.
#define KNOWN 6

// Field for field the host's `Shape`: how the work is cut.
typedef struct {
    int tile_columns, tile_rows;     // candidates of a tile, no more than the window has
    int blocks_across, blocks_down;  // blocks of a group, no more than the grid has
} Shape;

// As in tiled.cl the shape is compiled in on GPUs, with the pitch of the frames, so that the rows of a
// run are at known distances.
#ifdef GROUP_SIZE
#define ITEMS GROUP_SIZE
#else
#define ITEMS ((int)get_local_size(0))
#define PITCH g.pitch
#define INSIDE_ONLY g.inside_only
#define TILE_COLUMNS shape.tile_columns
#define TILE_ROWS shape.tile_rows
#define BLOCKS_ACROSS shape.blocks_across
#define BLOCKS_DOWN shape.blocks_down
#endif

#define BLOCKS (BLOCKS_ACROSS * BLOCKS_DOWN)
#define RUNS ((TILE_ROWS + RUN - 1) / RUN)
#define TASKS (BLOCKS * RUNS * TILE_COLUMNS)

// Tasks count through columns of candidates, blocks across, runs, blocks down: items that work at the
// same time share words of sums, which the cache holds for them.
#define TASK_COLUMN(task) ((int)((task) % (uint)TILE_COLUMNS))
#define TASK_RUN(task) ((int)((task) / (uint)(TILE_COLUMNS * BLOCKS_ACROSS) % (uint)RUNS))
#define TASK_BLOCK(task)                                                       \
    ((task) / (uint)(TILE_COLUMNS * BLOCKS_ACROSS * RUNS) * BLOCKS_ACROSS +    \
     (task) / (uint)TILE_COLUMNS % (uint)BLOCKS_ACROSS)

// The samples of a tile: words of a row, an odd number, so that rows beside each other meet no bank of
// local memory twice; a row begins up to 3 samples before the first candidate.
#define AREA_WORDS (((TILE_COLUMNS + BLOCKS_ACROSS * BLOCK + 2) / 4 + 1) | 1)
#define AREA_ROWS (TILE_ROWS + BLOCKS_DOWN * BLOCK - 1)

// First candidate row of a run in its tile: the last run is moved back over its neighbour.
#define FIRST_ROW(run) min((run) * RUN, TILE_ROWS - RUN)

// Sides of the parts.
#define SQUARE (BLOCK / 4)
#define QUARTER (BLOCK / 2)

// Samples of a quarter, and what its sum is shifted by: so much that it fits a half word, and for SSD
// that the squares of four differences fit a word.
#define SAMPLES (QUARTER * QUARTER)
#if METRIC_SSD
#define SHIFT (SAMPLES * 255 > 4 * 32767 ? 3 : SAMPLES * 255 > 2 * 32767 ? 2 : SAMPLES * 255 > 32767 ? 1 : 0)
#else
#define SHIFT (SAMPLES * 255 > 2 * 65535 ? 2 : SAMPLES * 255 > 65535 ? 1 : 0)
#endif

// Items that compute a cost together, four rows of the block each.
#define SPLIT (BLOCK / 4)

// More than every cost, and what a bound is compared with that is to eliminate nothing.
#define NO_COST 0x7fffffffu

// Bounds by quarters are floats for SAD, whose arithmetic is at least as fast and exact here: sums and
// bounds, also times RANKS, are less than 2^24. A sum is kept with 2^23 more, which is the exponent's bits
// above its own; `own` of a block likewise.
#if METRIC_SSD
typedef uint Bound;
#define LOWER_SUM(word) ((word) & 0xffff)
#define UPPER_SUM(word) ((word) >> 16)
#else
typedef float Bound;
#define LOWER_SUM(word) as_float(((word) & 0xffff) | 0x4b000000u)
#define UPPER_SUM(word) as_float((word) >> 16 | 0x4b000000u)
#endif

// Places of a run's candidates.
#define RANKS 32

// What the difference of two sums adds to a bound by quarters.
//
// Shifted sums differ by d >= 1 only where the sums differ by 2^SHIFT * (d - 1) + 1 or more. SAD makes
// up for it in `quarter_limit`, SSD here.
static inline Bound add_quarter(Bound bound, Bound a, Bound b)
{
#if METRIC_SSD
    const uint difference = abs_diff(a, b), d = SHIFT > 0 ? max(difference, 1u) - 1 : difference;
    return bound + d * d;
#else
    return bound + fabs(a - b);
#endif
}

// Candidates whose bound by quarters is this or more have a cost of `limit` or more.
//
// SAD: cost >= sum of (2^SHIFT * d - (2^SHIFT - 1)) over four quarters.
// SSD: cost >= sum of (2^SHIFT * d)^2 / SAMPLES, which is the inequality of the quadratic mean.
static inline uint quarter_limit(uint limit)
{
#if METRIC_SSD
    const ulong scaled = ((ulong)limit * SAMPLES + (1 << 2 * SHIFT) - 1) >> 2 * SHIFT;
    return (uint)min(scaled, (ulong)UINT_MAX);
#else
    return (limit + 5 * ((1 << SHIFT) - 1)) >> SHIFT;
#endif
}

// The bound of candidate v of a run, or a little less, and with it v.
static inline Bound place_of(Bound bound, int v)
{
#if METRIC_SSD
    return (bound & ~(uint)(RANKS - 1)) | (uint)v;
#else
    return bound * (float)RANKS + (float)v;
#endif
}

// The worst of these, of no candidate.
#define NO_PLACE ((Bound)UINT_MAX)

// A bound by quarters in 16 bits, in the same order, though some may be equal then.
static inline uint rank_of(uint bound)
{
    return METRIC_SSD ? bound >> 16 : min(bound, 65535u);
}

// The sum of the four samples in `word`.
static inline uint sum_four(uint word, uint sum)
{
#if FOUR_SAMPLES >= 1
    uint result;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(result) : "r"(word), "r"(0), "r"(sum));
    return result;
#else
    const uint pairs = (word & 0x00ff00ff) + (word >> 8 & 0x00ff00ff);
    return sum + (pairs & 0xffff) + (pairs >> 16);
#endif
}

// Rows of the frame from the window's first row on that a search reaches.
#define REACHED_ROWS (g.rows * BLOCK + g.window_rows - 1)

// Samples that a group of `sum_parts` takes across and down, and squares that it needs for them.
#define SUM_COLUMNS 128
#define SUM_ROWS 16
#define SQUARES_ACROSS (SUM_COLUMNS + (3 * SQUARE + 3) / 4 * 4)
#define SQUARES_DOWN (SUM_ROWS + SQUARE)

// The words of sums of each sample that a search reaches. Parts that go on outside belong to no candidate,
// and repeat words or rows.
__kernel FIXED_GROUP void sum_parts(__global const uchar *restrict frame, __global uint *restrict small,
                                    __global uint *restrict large, Geometry g)
{
    __local ushort squares[SQUARES_ACROSS * SQUARES_DOWN];
    const int item = (int)get_local_id(0), words = g.pitch / 4, top = g.top + g.y0;
    const int left = (int)get_group_id(0) * SUM_COLUMNS, first = (int)get_group_id(1) * SUM_ROWS;

    for (int unit = item; unit < SQUARES_ACROSS / 4 * SQUARES_DOWN; unit += ITEMS) {
        const int across = unit % (SQUARES_ACROSS / 4), down = unit / (SQUARES_ACROSS / 4);
        const int word = left / 4 + across;
        uint sums[4] = {0, 0, 0, 0};
#pragma unroll
        for (int k = 0; k < SQUARE; ++k) {
            const int row = top + min(first + down + k, REACHED_ROWS - 1);
            __global const uint *line = (__global const uint *)(frame + (size_t)row * (size_t)g.pitch);
            uint low = line[min(word, words - 1)];
#pragma unroll
            for (int n = 0; n < (SQUARE + 3) / 4; ++n) {
                const uint high = line[min(word + n + 1, words - 1)];
                const int rest = SQUARE - 4 * n;
                const uint mask = rest >= 4 ? UINT_MAX : (1u << 8 * (rest & 3)) - 1;
#pragma unroll
                for (int s = 0; s < 4; ++s)
                    sums[s] = sum_four(join_words(low, high, (uint)s) & mask, sums[s]);
                low = high;
            }
        }
#pragma unroll
        for (int s = 0; s < 4; ++s)
            squares[down * SQUARES_ACROSS + 4 * across + s] = (ushort)sums[s];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int unit = item; unit < SUM_COLUMNS / 4 * SUM_ROWS; unit += ITEMS) {
        const int x = unit % (SUM_COLUMNS / 4) * 4, y = unit / (SUM_COLUMNS / 4);
        __local const ushort *upper = squares + y * SQUARES_ACROSS + x, *lower = upper + SQUARE * SQUARES_ACROSS;
        uint small_words[4], large_words[4];
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const uint a = upper[s], b = upper[s + SQUARE];
            const uint c = upper[s + 2 * SQUARE], d = upper[s + 3 * SQUARE];
            const uint one = a + b + lower[s] + lower[s + SQUARE];
            const uint two = c + d + lower[s + 2 * SQUARE] + lower[s + 3 * SQUARE];
            small_words[s] = a | b << 16;
            large_words[s] = one >> SHIFT | two >> SHIFT << 16;
        }
        if (left + x < g.pitch && first + y < REACHED_ROWS) {
            const size_t place = (size_t)(top + first + y) * (size_t)g.pitch + (size_t)(left + x);
            *(__global uint4 *)(small + place) = vload4(0, small_words);
            *(__global uint4 *)(large + place) = vload4(0, large_words);
        }
    }
}

// The bounds of a run by quarters, whose first candidate's word of sums is `from`.
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
                bounds[i - QUARTER] = add_quarter(add_quarter(bounds[i - QUARTER], left, lower_left), right, lower_right);
        }
}

#define BLOCK_OF(entry) ((entry) >> 28)
#define COLUMN_OF(entry) ((int)((entry) & 0x3fff))
#define ROW_OF(entry) ((int)((entry) >> 14 & 0x3fff))
#define ENTRY(block, column, row) ((uint)(block) << 28 | (uint)(row) << 14 | (uint)(column))

// A candidate of a cost or bound less than this may win from the best of a block, if it is `length`
// away: an equal cost wins where it is not further away, or maybe not.
#define LIMIT(block, length) (costs[block] + ((uint)(length) <= ties[block] >> 16 ? 1 : 0))

__kernel FIXED_GROUP void elimination(__global const uchar *restrict current,
                                      __global const uchar *restrict reference,
                                      __global const uint *restrict small,
                                      __global const uint *restrict large,
                                      __global const MotionVector *restrict last,
                                      __global MotionVector *restrict next_last,
                                      __global MotionVector *restrict vectors, __local uint *memory,
                                      Shape shape, Geometry g)
{
    __local uint *samples = memory, *squares = samples + BLOCKS * BLOCK * BLOCK_WORDS;
    __local uint *quarters = squares + BLOCKS * 16, *firsts = quarters + BLOCKS * 4;
    __local uint *costs = firsts + BLOCKS * FIRSTS, *ties = costs + BLOCKS, *known_costs = ties + BLOCKS;
    __local uint *suspects = known_costs + BLOCKS, *finalists = suspects + LIST, *sums = finalists + LIST;
    // How many there are of the lists: suspects, finalists, runs.
    __local uint *counts_of = sums + LIST;
    __local uint *area = counts_of + 3;
    __local ushort *least = (__local ushort *)(area + AREA_WORDS * AREA_ROWS), *runs = least + TASKS;

    const uint item = (uint)get_local_id(0);
    const int own_column = (int)get_group_id(0) * BLOCKS_ACROSS, own_row = (int)get_group_id(1) * BLOCKS_DOWN;
    const int column = min(own_column, g.columns - BLOCKS_ACROSS), row = min(own_row, g.rows - BLOCKS_DOWN);

    for (uint i = item; i < BLOCKS * BLOCK * BLOCK_WORDS; i += ITEMS) {
        const uint word = i % BLOCK_WORDS, line = i / BLOCK_WORDS % BLOCK, block = i / (BLOCK_WORDS * BLOCK);
        const int c = column + (int)(block % BLOCKS_ACROSS), r = row + (int)(block / BLOCKS_ACROSS);
        samples[i] =
            ((__global const uint *)sample_at(current, g, c * BLOCK, r * BLOCK + (int)line))[word];
    }
    for (uint i = item; i < BLOCKS; i += ITEMS) {
        costs[i] = NO_COST;
        known_costs[i] = NO_COST;
        ties[i] = UINT_MAX;
    }
    for (uint i = item; i < 3; i += ITEMS)
        counts_of[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < BLOCKS * 16; i += ITEMS) {
        const uint x = i % 4 * SQUARE, y = i / 4 % 4 * SQUARE, block = i / 16;
        __local const uchar *from = (__local const uchar *)(samples + block * BLOCK * BLOCK_WORDS) + y * BLOCK + x;
        uint sum = 0;
        for (int k = 0; k < SQUARE * SQUARE; ++k)
            sum += from[k / SQUARE * BLOCK + k % SQUARE];
        squares[i] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < BLOCKS * 4; i += ITEMS) {
        __local const uint *from = squares + i / 4 * 16 + i / 2 % 2 * 8 + i % 2 * 2;
        quarters[i] = (from[0] + from[1] + from[4] + from[5]) >> SHIFT;
    }

    for (int next_y = 0; next_y < g.window_rows; next_y += TILE_ROWS) {
        for (int next_x = 0; next_x < g.window_columns; next_x += TILE_COLUMNS) {
            const int tile_x = min(next_x, g.window_columns - TILE_COLUMNS);
            const int tile_y = min(next_y, g.window_rows - TILE_ROWS);
            const int area_x = column * BLOCK + g.x0 + tile_x, skew = area_x & 3;
            const int area_y = row * BLOCK + g.y0 + tile_y;

            // Several words on their way from global memory at once.
            __global const uchar *corner = sample_at(reference, g, area_x - skew, area_y);
#pragma unroll 8
            for (uint w = item; w < AREA_WORDS * AREA_ROWS; w += ITEMS)
                area[w] = ((__global const uint *)(corner + w / AREA_WORDS * (uint)PITCH))[w % AREA_WORDS];
            for (uint i = item; i < BLOCKS * FIRSTS; i += ITEMS)
                firsts[i] = UINT_MAX;
            if (item == 0)
                counts_of[2] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint task = item; task < TASKS; task += ITEMS) {
                const uint block = TASK_BLOCK(task);
                const int across = TASK_COLUMN(task);
                const int down = FIRST_ROW(TASK_RUN(task));
                const int x = (column + (int)(block % BLOCKS_ACROSS)) * BLOCK + g.x0 + tile_x + across;
                const int y = (row + (int)(block / BLOCKS_ACROSS)) * BLOCK + g.y0 + tile_y + down;
                Bound bounds[RUN], best = NO_PLACE;
                bound_run(bounds, large + (size_t)(y + g.top) * (size_t)g.pitch + (size_t)(x + g.left), PITCH,
                          quarters + block * 4);
                const bool column_inside = x >= 0 && x + BLOCK <= g.extended_width;
                const int first_inside = !INSIDE_ONLY ? 0 : column_inside ? -g.above - y : RUN;
                const int last_inside = !INSIDE_ONLY ? RUN - 1 : g.extended_height - BLOCK - y;
#pragma unroll
                for (int v = 0; v < RUN; ++v) {
                    const Bound place = place_of(bounds[v], v);
                    best = min(best, first_inside <= v && v <= last_inside ? place : NO_PLACE);
                }
                const uint place = best < NO_PLACE ? (uint)best : UINT_MAX;
                const uint rank = rank_of(METRIC_SSD ? place : place / RANKS);
                least[task] = (ushort)rank;
                if (place < UINT_MAX)
                    atomic_min(&firsts[block * FIRSTS + (uint)across % FIRSTS],
                               rank << 16 | (uint)((down + (int)(place % RANKS)) * TILE_COLUMNS + across));
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            for (uint i = item; i < BLOCKS * FIRSTS; i += ITEMS) {
                const uint first = firsts[i], candidate = first & 0xffff;
                if (first < UINT_MAX)
                    suspects[atomic_inc(&counts_of[0])] =
                        ENTRY(i / FIRSTS, tile_x + (int)(candidate % (uint)TILE_COLUMNS),
                              tile_y + (int)(candidate / (uint)TILE_COLUMNS));
            }
            for (uint i = item; i < BLOCKS * KNOWN; i += ITEMS) {
                const uint block = i / KNOWN, known = i % KNOWN;
                const int c = column + (int)(block % BLOCKS_ACROSS), r = row + (int)(block / BLOCKS_ACROSS);
                const int near_c = clamp(c + (known == 1) - (known == 2), 0, g.columns - 1);
                const int near_r = clamp(r + (known == 3) - (known == 4), 0, g.rows - 1);
                const MotionVector vector = last[(near_r + g.above / BLOCK) * g.columns + near_c];
                const int x = known == 5 ? 0 : vector.x / 4, y = known == 5 ? 0 : vector.y / 4;
                const uint across = (uint)(x - g.x0 - tile_x), down = (uint)(y - g.y0 - tile_y);
                if (across < (uint)TILE_COLUMNS && down < (uint)TILE_ROWS && counts(g, c, r, x, y))
                    suspects[atomic_inc(&counts_of[0])] = ENTRY(block, x - g.x0, y - g.y0);
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            // How far an item has come: its run, and a bit for each of the run's candidates that it has
            // not yet put on the list. No run is listed in the first round.
            uint next_run = item, left = 0;
            bool is_first = true;
            do {
                const uint suspected = min(counts_of[0], (uint)LIST);
                for (uint i = item; i < suspected; i += ITEMS) {
                    const uint entry = suspects[i], block = BLOCK_OF(entry);
                    const int x = g.x0 + COLUMN_OF(entry), y = g.y0 + ROW_OF(entry);
                    const int c = column + (int)(block % BLOCKS_ACROSS), r = row + (int)(block / BLOCKS_ACROSS);
                    __global const uint *from = small + (size_t)(r * BLOCK + y + g.top) * (size_t)g.pitch +
                                                (size_t)(c * BLOCK + x + g.left);
                    __local const uint *own = squares + block * 16;
#if METRIC_SSD
                    ulong bound = 0;
#pragma unroll
                    for (int k = 0; k < 8; ++k) {
                        const uint word = from[k / 2 * SQUARE * PITCH + k % 2 * QUARTER];
                        const uint a = abs_diff(word & 0xffff, own[2 * k]);
                        const uint b = abs_diff(word >> 16, own[2 * k + 1]);
                        bound += (ulong)a * a + (ulong)b * b;
                    }
                    const bool may_win = bound < (ulong)LIMIT(block, abs(x) + abs(y)) * (SQUARE * SQUARE);
#else
                    uint bound = 0;
#pragma unroll
                    for (int k = 0; k < 8; ++k) {
                        const uint word = from[k / 2 * SQUARE * PITCH + k % 2 * QUARTER];
                        bound += abs_diff(word & 0xffff, own[2 * k]) + abs_diff(word >> 16, own[2 * k + 1]);
                    }
                    const bool may_win = bound < LIMIT(block, abs(x) + abs(y));
#endif
                    if (may_win) {
                        const uint place = atomic_inc(&counts_of[1]);
                        finalists[place] = entry;
                        sums[place] = 0;
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);

                const uint finals = counts_of[1];
                for (uint i = item; i < finals * SPLIT; i += ITEMS) {
                    const uint entry = finalists[i / SPLIT], block = BLOCK_OF(entry), line = i % SPLIT * 4;
                    const int x = (int)(block % BLOCKS_ACROSS) * BLOCK + COLUMN_OF(entry) - tile_x + skew;
                    const int y = (int)(block / BLOCKS_ACROSS * BLOCK + line) + ROW_OF(entry) - tile_y;
                    const uint shift = (uint)x & 3;
                    __local const uint *words = area + y * AREA_WORDS + x / 4;
                    __local const uint *own = samples + (block * BLOCK + line) * BLOCK_WORDS;
                    uint cost = 0;
#pragma unroll
                    for (int k = 0; k < 4; ++k, words += AREA_WORDS) {
                        uint low = words[0];
#pragma unroll
                        for (int j = 0; j < BLOCK_WORDS; ++j) {
                            const uint high = words[j + 1];
                            cost = compare_four(own[k * BLOCK_WORDS + j], join_words(low, high, shift), cost);
                            low = high;
                        }
                    }
                    atomic_add(&sums[i / SPLIT], cost);
                }
                barrier(CLK_LOCAL_MEM_FENCE);

                for (uint i = item; i < finals; i += ITEMS)
                    atomic_min(&costs[BLOCK_OF(finalists[i])], sums[i]);
                barrier(CLK_LOCAL_MEM_FENCE);
                for (uint i = item; i < BLOCKS; i += ITEMS)
                    if (costs[i] != known_costs[i]) {
                        known_costs[i] = costs[i];
                        ties[i] = UINT_MAX;
                    }
                for (uint i = item; i < 2; i += ITEMS)
                    counts_of[i] = 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                for (uint i = item; i < finals; i += ITEMS) {
                    const uint entry = finalists[i], block = BLOCK_OF(entry);
                    if (sums[i] == costs[block])
                        atomic_min(&ties[block], (uint)order_key(0, g.x0 + COLUMN_OF(entry), g.y0 + ROW_OF(entry)));
                }
                barrier(CLK_LOCAL_MEM_FENCE);

                for (uint task = item; task < (is_first ? TASKS : 0); task += ITEMS) {
                    const uint limit = quarter_limit(costs[TASK_BLOCK(task)] + 1);
                    if (least[task] <= rank_of(limit - 1))
                        runs[atomic_inc(&counts_of[2])] = (ushort)task;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                const uint count = counts_of[2];
                bool is_full = false;
                while (next_run < count && !is_full) {
                    const uint task = runs[next_run], block = TASK_BLOCK(task);
                    const int across = tile_x + TASK_COLUMN(task);
                    const int down = tile_y + FIRST_ROW(TASK_RUN(task));
                    const int x = g.x0 + across, y = g.y0 + down;
                    const int nearest = (int)abs(clamp(0, y, y + RUN - 1));
                    const uint limit = quarter_limit(LIMIT(block, (int)abs(x) + nearest));
                    if (left == 0 && limit > 0 && least[task] <= rank_of(limit - 1)) {
                        const int block_x = (column + (int)(block % BLOCKS_ACROSS)) * BLOCK + x;
                        const int block_y = (row + (int)(block / BLOCKS_ACROSS)) * BLOCK + y;
                        Bound bounds[RUN];
                        bound_run(bounds,
                                  large + (size_t)(block_y + g.top) * (size_t)g.pitch + (size_t)(block_x + g.left),
                                  PITCH, quarters + block * 4);
                        const bool column_inside = block_x >= 0 && block_x + BLOCK <= g.extended_width;
                        const int first_inside = !INSIDE_ONLY ? 0 : column_inside ? -g.above - block_y : RUN;
                        const int last_inside = !INSIDE_ONLY ? RUN - 1 : g.extended_height - BLOCK - block_y;
#pragma unroll
                        for (int v = 0; v < RUN; ++v)
                            left |= bounds[v] < (Bound)limit && first_inside <= v && v <= last_inside ? 1u << v : 0;
                    }
                    // One by one, so that items in step, who have adjacent columns, list what is adjacent.
                    while (left != 0 && !is_full) {
                        const uint place = atomic_inc(&counts_of[0]);
                        is_full = place >= LIST;
                        if (!is_full)
                            suspects[place] = ENTRY(block, across, down + 31 - (int)clz(left & (~left + 1)));
                        left = is_full ? left : left & (left - 1);
                    }
                    if (!is_full)
                        next_run += ITEMS;
                }
                is_first = false;
                barrier(CLK_LOCAL_MEM_FENCE);
            } while (counts_of[0] != 0);
        }
    }

    for (uint i = item; i < BLOCKS; i += ITEMS) {
        const int c = column + (int)(i % BLOCKS_ACROSS), r = row + (int)(i / BLOCKS_ACROSS);
        if (c >= own_column && r >= own_row) {
            const MotionVector vector = vector_of_key((ulong)costs[i] << 32 | ties[i]);
            vectors[r * g.columns + c] = vector;
            next_last[(r + g.above / BLOCK) * g.columns + c] = vector;
        }
    }
}
