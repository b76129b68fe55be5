// Tiled full search, our own: each reference sample is loaded once for a whole run of candidates.
//
// Groups, tiles, runs and tasks are those of groups.cl; an item takes every ITEMS-th task. It goes through
// its block in *strips*, one word wide and PART rows tall, and keeps the strip and the costs of the run in
// registers: a word of the reference, loaded once, is compared with up to PART rows of the block and adds to
// as many candidates. If large blocks leave a group too few tasks for its items, a task is divided into
// SLICES, one item each: each slice is some parts of the block, and their costs are added up in local memory.
//
// The search area is in local memory once for each sample of a word, each copy one sample further on, so that
// every column of candidates finds its words aligned and the inner loop joins none.
//
//   area     word i of row r of copy s, the samples from WORD_SAMPLES * i + s on, at
//            s * COPY_WORDS + r * AREA_WORDS + i. Copies are 8 banks (of 32) apart: 32 adjacent columns,
//            which read 8 words of each of four copies, use each bank once.
//   strips   row k of strip (part p, word j) of block b at element k of the vectors from
//            ((b * PARTS + p) * BLOCK_WORDS + j) * PART_VECTORS on
//   ranks    rank of candidate v of run n in the order of the run, at element v of the vectors from
//            n * RUN_VECTORS on
//   y_ties   what the candidate of rank q in run n adds to the tie of its order key, at n * RANKS + q
//   found    cost * RANKS + rank of the best candidate of each task
//   sums     with several slices, the cost of candidate v of a task's run at v * TASKS + task
//
// The best of a run is the smallest cost * RANKS + rank, one 32-bit number. The best of a block takes two
// steps: the smallest cost, then the smallest tie of the tasks that have this cost, each by an atomic minimum.
//
// On an NVIDIA H200 the driver gives blocks of 16 some 52 to 102 registers an item without spilling, and a
// group of 128 items takes 17 to 48 KiB of local memory. The comparisons limit the speed: benches/RESULTS.md
// has the figures and what was tried.
//
// RUN is at most 128, and so small that cost * RANKS fits 32 bits.

#include "common.cl"
#include "groups.cl"

// Rows of a strip: divides BLOCK.
#ifndef PART
#define PART 4
#endif

// Items that share a task: divides BLOCK / PART.
#ifndef SLICES
#define SLICES 1
#endif

// Local memory of a group in vectors of 16 bytes.
#ifndef LOCAL_VECTORS
#define LOCAL_VECTORS 2048
#endif

// Words of a strip row that are unrolled: all of a block row, or one.
#ifndef UNROLL_WORDS
#define UNROLL_WORDS 1
#endif

// Columns from one tile to the next. This, and by how much the last tile is moved back, is a multiple of 4,
// so that SKEW is the same for all tiles. A tile of less than 4 columns is as wide as the window.
#define TILE_STEP (TILE_COLUMNS < 4 ? 4 : TILE_COLUMNS / 4 * 4)

#define PARTS (BLOCK / PART)
#define SLICE_PARTS (PARTS / SLICES)
#define PART_VECTORS ((PART + 3) / 4)
#define BLOCK_VECTORS (PARTS * BLOCK_WORDS * PART_VECTORS)
#define RUN_VECTORS ((RUN + 3) / 4)

#define RANK_BITS \
    (RUN > 64 ? 7 : RUN > 32 ? 6 : RUN > 16 ? 5 : RUN > 8 ? 4 : RUN > 4 ? 3 : RUN > 2 ? 2 : 1)
#define RANKS (1 << RANK_BITS)

#define AREA_WORDS ((TILE_COLUMNS - 1 + (BLOCKS_ACROSS - 1) * BLOCK) / WORD_SAMPLES + BLOCK_WORDS)
#define COPY_WORDS ((AREA_ROWS * AREA_WORDS + 23) / 32 * 32 + 8)

// Items that copy a row of the area, rows that the group copies at once, and rows that an item loads before
// it stores the first.
#define FILL_ITEMS (AREA_WORDS < ITEMS ? AREA_WORDS : ITEMS)
#define FILL_ROWS (ITEMS / FILL_ITEMS)
#ifdef GROUP_SIZE
#define FILL_PASSES ((AREA_ROWS + FILL_ROWS - 1) / FILL_ROWS)
#define FILL_BATCHES ((FILL_PASSES + 7) / 8)
#define FILL_BATCH ((FILL_PASSES + FILL_BATCHES - 1) / FILL_BATCHES)
#else
#define FILL_BATCH 1
#endif

// Copies `count` vectors to an array of words. All indices are compile-time constants.
#define LOAD_VECTORS(to, from, count)            \
    _Pragma("unroll") for (int n = 0; n < (count); ++n) \
    {                                            \
        const uint4 vector = (from)[n];          \
        (to)[4 * n] = vector.x;                  \
        (to)[4 * n + 1] = vector.y;              \
        (to)[4 * n + 2] = vector.z;              \
        (to)[4 * n + 3] = vector.w;              \
    }

// Stores the best candidate of a task's run, whose costs are given. (x, y): the sample at which the tile's
// first candidate of the group's first block begins.
static inline void store_best(const uint *costs, uint task, int x, int y, GroupShape shape, Geometry g,
                              __local const uint4 *ranks, __local uint *found, __local uint *least_costs)
{
    const uint tx = TASK_COLUMN(task), run = TASK_RUN(task), bx = TASK_ACROSS(task), by = TASK_DOWN(task);
    uint rank[4 * RUN_VECTORS], least = UINT_MAX;
    LOAD_VECTORS(rank, ranks + run * RUN_VECTORS, RUN_VECTORS);
    const int left = x + (int)(bx * BLOCK + tx), top = y + (int)by * BLOCK + FIRST_ROW(run);
    const int first = first_that_counts(g, left, top), last = last_that_counts(g, top);
#pragma unroll
    for (int v = 0; v < RUN; ++v) {
        const uint key = costs[v] * RANKS + rank[v];
        least = min(least, first <= v && v <= last ? key : UINT_MAX);
    }
    found[task] = least;
    atomic_min(&least_costs[by * BLOCKS_ACROSS + bx], least / RANKS);
}

// The word that starts `skew` samples, fewer than two words have, into three words.
static inline uint skewed(const uint *words, uint skew)
{
    return skew < WORD_SAMPLES ? join_words(words[0], words[1], skew)
                               : join_words(words[1], words[2], skew - WORD_SAMPLES);
}

__kernel FIXED_GROUP void tiled(__global const uchar *restrict current,
                                __global const uchar *restrict reference,
                                __global MotionVector *restrict vectors, GroupShape shape, Geometry g)
{
    __local uint4 memory[LOCAL_VECTORS];
    __local uint4 *strips = memory, *ranks = strips + BLOCKS * BLOCK_VECTORS;
    __local uint *area = (__local uint *)(ranks + RUNS * RUN_VECTORS), *y_ties = area + WORD_SAMPLES * COPY_WORDS;
    __local uint *found = y_ties + RUNS * RANKS;
    __local uint *least_costs = found + TASKS, *least_ties = least_costs + BLOCKS;
#if SLICES > 1
    __local uint *sums = least_ties + BLOCKS;
#endif

    const uint item = (uint)get_local_id(0);
    const int own_column = (int)get_group_id(0) * BLOCKS_ACROSS, own_row = (int)get_group_id(1) * BLOCKS_DOWN;
    const int column = min(own_column, g.columns - BLOCKS_ACROSS), row = min(own_row, g.rows - BLOCKS_DOWN);

    for (uint i = item; i < BLOCKS * BLOCK; i += ITEMS) {
        const uint bx = i % BLOCKS_ACROSS, line = i / BLOCKS_ACROSS, by = line / BLOCK, k = line % BLOCK;
        const uint strip = ((by * BLOCKS_ACROSS + bx) * PARTS + k / PART) * BLOCK_WORDS;
        __global const uint *words =
            (__global const uint *)sample_at(current, g, (column + (int)bx) * BLOCK, row * BLOCK + (int)line);
        __local uint *to = (__local uint *)(strips + strip * PART_VECTORS) + k % PART;
        uint line_words[BLOCK_WORDS];
#pragma unroll
        for (int j = 0; j < BLOCK_WORDS; ++j)
            line_words[j] = words[j];
#pragma unroll
        for (int j = 0; j < BLOCK_WORDS; ++j)
            to[j * 4 * PART_VECTORS] = line_words[j];
    }

    // Item i keeps the best candidate of block i.
    ulong best = WORST_KEY;
    for (int next_y = 0; next_y < WINDOW_ROWS; next_y += TILE_ROWS) {
        for (int next_x = 0; next_x < WINDOW_COLUMNS - TILE_COLUMNS + TILE_STEP; next_x += TILE_STEP) {
            const int tile_x = min(next_x, WINDOW_COLUMNS - TILE_COLUMNS);
            const int tile_y = min(next_y, WINDOW_ROWS - TILE_ROWS);
            const int x0 = g.x0 + tile_x, y0 = g.y0 + tile_y;

            __global const uchar *corner = (__global const uchar *)sample_at(
                reference, g, column * BLOCK + x0 - (int)SKEW, row * BLOCK + y0);
            for (uint w = item < FILL_ROWS * FILL_ITEMS ? item % FILL_ITEMS : AREA_WORDS; w < AREA_WORDS;
                 w += FILL_ITEMS) {
                const uint first = item / FILL_ITEMS;
                uint from = first * (uint)g.pitch + 4 * w;
                __local uint *to = area + first * AREA_WORDS + w;
                for (int left = AREA_ROWS - (int)first; left > 0; left -= FILL_BATCH * FILL_ROWS) {
                    uint words[FILL_BATCH][3];
#pragma unroll
                    for (int n = 0; n < FILL_BATCH; ++n, from += FILL_ROWS * (uint)g.pitch)
                        if (n * FILL_ROWS < left) {
                            __global const uint *line = (__global const uint *)(corner + from);
                            words[n][0] = line[0];
                            words[n][1] = line[1];
                            words[n][2] = SKEW > 0 ? line[2] : 0;
                        }
#pragma unroll
                    for (int n = 0; n < FILL_BATCH; ++n, to += FILL_ROWS * AREA_WORDS)
                        if (n * FILL_ROWS < left) {
#pragma unroll
                            for (int s = 0; s < WORD_SAMPLES; ++s)
                                to[s * COPY_WORDS] = skewed(words[n], SKEW + (uint)s);
                        }
                }
            }
#pragma unroll 1
            for (uint i = item; i < RUNS * RUN; i += ITEMS) {
                // Rank: nearest to y = 0 first, above before below. Past the nearer end of the run only the
                // other side continues.
                const uint run = i / RUN, v = i % RUN;
                const int top = y0 + FIRST_ROW(run), bottom = top + RUN - 1, y = top + (int)v;
                const int nearest = clamp(0, top, bottom), away = (int)abs(y - nearest);
                const int both = min(nearest - top, bottom - nearest);
                const int rank = away <= both ? 2 * away - (y < nearest) : away + both;
                ((__local uint *)(ranks + run * RUN_VECTORS))[v] = (uint)rank;
                y_ties[run * RANKS + (uint)rank] = (uint)order_key(0, 0, y);
            }
#if SLICES > 1
            for (uint i = item; i < RUN * TASKS; i += ITEMS)
                sums[i] = 0;
#endif
            if (item < BLOCKS) {
                least_costs[item] = UINT_MAX;
                least_ties[item] = UINT_MAX;
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            const int left = column * BLOCK + x0, top = row * BLOCK + y0;
            for (uint share = item; share < SLICES * TASKS; share += ITEMS) {
                const uint task = SLICES > 1 ? share % (uint)TASKS : share;
                const uint first_part = SLICES > 1 ? share / (uint)TASKS * SLICE_PARTS : 0;
                const uint bx = TASK_ACROSS(task), by = TASK_DOWN(task), at = bx * BLOCK + TASK_COLUMN(task);
                __local const uint *part_samples =
                    area + at % WORD_SAMPLES * COPY_WORDS + at / WORD_SAMPLES +
                    (by * BLOCK + first_part * PART + FIRST_ROW(TASK_RUN(task))) * AREA_WORDS;
                __local const uint4 *strip = strips + (by * BLOCKS_ACROSS + bx) * BLOCK_VECTORS +
                                             first_part * BLOCK_WORDS * PART_VECTORS;
                uint costs[RUN];
#pragma unroll
                for (int v = 0; v < RUN; ++v)
                    costs[v] = 0;
#pragma unroll 1
                for (int part = 0; part < SLICE_PARTS; ++part, part_samples += PART * AREA_WORDS) {
#pragma unroll UNROLL_WORDS
                    for (int j = 0; j < BLOCK_WORDS; ++j, strip += PART_VECTORS) {
                        __local const uint *samples = part_samples + j;
                        uint c[4 * PART_VECTORS];
                        LOAD_VECTORS(c, strip, PART_VECTORS);
#pragma unroll
                        for (int i = 0; i < RUN + PART - 1; ++i) {
                            const uint r = samples[i * AREA_WORDS];
#pragma unroll
                            for (int k = 0; k < PART; ++k)
                                if (0 <= i - k && i - k < RUN)
                                    costs[i - k] = compare_word(c[k], r, costs[i - k]);
                        }
                    }
                }
#if SLICES == 1
                store_best(costs, task, left, top, shape, g, ranks, found, least_costs);
#else
#pragma unroll
                for (int v = 0; v < RUN; ++v)
                    atomic_add(&sums[v * TASKS + task], costs[v]);
#endif
            }
#if SLICES > 1
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
            for (uint task = item; task < TASKS; task += ITEMS) {
                uint costs[RUN];
#pragma unroll
                for (int v = 0; v < RUN; ++v)
                    costs[v] = sums[v * TASKS + task];
                store_best(costs, task, left, top, shape, g, ranks, found, least_costs);
            }
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
            for (uint task = item; task < TASKS; task += ITEMS) {
                const uint block = TASK_BLOCK(task);
                const uint least = found[task];
                if (least / RANKS == least_costs[block]) {
                    // The parts of a tie that x and y give have no common bits but those of |x| + |y|, which
                    // add up.
                    const int x = x0 + (int)(TASK_COLUMN(task));
                    const uint x_tie = abs(x) << 16 | (uint)(x > 0);
                    const uint rank = min(least % RANKS, (uint)(RUN - 1));
                    atomic_min(&least_ties[block], x_tie + y_ties[TASK_RUN(task) * RANKS + rank]);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < BLOCKS)
                best = min(best, (ulong)least_costs[item] << 32 | least_ties[item]);
        }
    }

    if (item < BLOCKS) {
        const int c = column + (int)(item % BLOCKS_ACROSS), r = row + (int)(item / BLOCKS_ACROSS);
        if (c >= own_column && r >= own_row)
            vectors[r * g.columns + c] = vector_of_key(best);
    }
}
