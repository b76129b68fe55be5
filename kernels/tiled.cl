// Tiled full search, our own: reference samples that are loaded once serve a whole run of candidates.
//
// A group takes BLOCKS_ACROSS x BLOCKS_DOWN adjacent blocks and goes through the window in tiles of
// TILE_COLUMNS x TILE_ROWS candidates. A *task* is one block and a *run* of ROWS candidates, one
// under the other; an item takes every ITEMS-th task. The item goes through its block in *strips*, a
// word wide and PART rows tall, which it keeps in registers beside the run's costs: a word of the
// reference, loaded once, meets up to PART rows of the block and adds to as many candidates. Where
// blocks are so large that a group has room for few and too few tasks to fill its steps, a task is
// done in SLICES, each an item's: so many parts of the block, whose costs are added up in local memory.
//
// The search area lies in local memory four times, each copy one sample further on, so that every
// column of candidates finds its words aligned and nothing is joined in the inner loop.
//
//   area     word i of row r of copy s, the samples from 4 * i + s on, at
//            s * COPY_WORDS + r * AREA_WORDS + i. Copies lie 8 banks (of 32) apart: 32 adjacent
//            columns, which take 8 words of each copy, meet no bank twice.
//   strips   row k of strip (part p, word j) of block b at element k of the vectors from
//            ((b * PARTS + p) * BLOCK_WORDS + j) * PART_VECTORS on
//   ranks    the place of candidate v of run n in the order of its run, at element v of the vectors
//            from n * RUN_VECTORS on; y_ties holds what the candidate in place q of run n adds to the
//            tie of its order key, at n * RANKS + q
//   found    cost * RANKS + rank of the best candidate of each task
//   sums     with several slices, the cost of candidate v of a task's run at v * TASKS + task
//
// The best of a run is the smallest of cost * RANKS + rank, one 32-bit number. The best of a block
// is found in two steps, the smallest cost and among the tasks that have it the smallest tie, each by
// an atomic minimum. Runs and tiles that would pass the end of the window, and groups that would pass
// the end of the grid, are moved back over their neighbour, so that nobody has to ask what counts.
//
// On an NVIDIA H200 the driver gives blocks of 16 some 52 to 102 registers an item without spilling, and
// a group of 128 items takes 17 to 48 KiB of local memory. The comparisons bind: benches/RESULTS.md has
// the figures and what was tried.

#include "common.cl"

// Candidates in a run, at most 128; fewer where cost * RANKS would pass 32 bits.
#ifndef ROWS
#define ROWS 4
#endif

// Rows of a strip: divides BLOCK.
#ifndef PART
#define PART 4
#endif

// Items that share a task: divides BLOCK / PART.
#ifndef SLICES
#define SLICES 1
#endif

// Field for field the host's `Shape`: how the work is cut.
typedef struct {
    int tile_columns, tile_rows;     // candidates of a tile, no more than the window has
    int blocks_across, blocks_down;  // blocks of a group, no more than the grid has
    int skew;                        // the window's first displacement across, modulo 4
} Shape;

// The shape is an argument, unless it is compiled in, which is worth it on GPUs: their loops are
// short, and they divide slowly. Then TILE_COLUMNS, TILE_ROWS, BLOCKS_ACROSS, BLOCKS_DOWN, SKEW,
// WINDOW_COLUMNS, WINDOW_ROWS and INSIDE_ONLY are given with GROUP_SIZE.
#ifdef GROUP_SIZE
#define ITEMS GROUP_SIZE
#else
#define ITEMS ((int)get_local_size(0))
#define WINDOW_COLUMNS g.window_columns
#define WINDOW_ROWS g.window_rows
#define INSIDE_ONLY g.inside_only
#define TILE_COLUMNS shape.tile_columns
#define TILE_ROWS shape.tile_rows
#define BLOCKS_ACROSS shape.blocks_across
#define BLOCKS_DOWN shape.blocks_down
#define SKEW ((uint)shape.skew)
#endif

// Local memory of a group in vectors of 16 bytes.
#ifndef LOCAL_VECTORS
#define LOCAL_VECTORS 2048
#endif

// Columns from one tile to the next: a multiple of 4, as what the last tile is moved back by, so that
// SKEW holds for each. A tile of less than 4 columns is the whole window's width.
#define TILE_STEP (TILE_COLUMNS < 4 ? 4 : TILE_COLUMNS / 4 * 4)

#define BLOCKS (BLOCKS_ACROSS * BLOCKS_DOWN)
#define PARTS (BLOCK / PART)
#define SLICE_PARTS (PARTS / SLICES)
#define PART_VECTORS ((PART + 3) / 4)
#define BLOCK_VECTORS (PARTS * BLOCK_WORDS * PART_VECTORS)

#define RUNS ((TILE_ROWS + ROWS - 1) / ROWS)
#define RUN_VECTORS ((ROWS + 3) / 4)
#define TASKS (RUNS * BLOCKS * TILE_COLUMNS)

#define RANK_BITS \
    (ROWS > 64 ? 7 : ROWS > 32 ? 6 : ROWS > 16 ? 5 : ROWS > 8 ? 4 : ROWS > 4 ? 3 : ROWS > 2 ? 2 : 1)
#define RANKS (1 << RANK_BITS)

#define AREA_ROWS (TILE_ROWS + BLOCKS_DOWN * BLOCK - 1)
#define AREA_WORDS ((TILE_COLUMNS - 1 + (BLOCKS_ACROSS - 1) * BLOCK) / 4 + BLOCK_WORDS)
#define COPY_WORDS ((AREA_ROWS * AREA_WORDS + 23) / 32 * 32 + 8)

// Items that copy a row of the area, rows that are copied at once, and rows that an item has on
// their way from global memory at once.
#define FILL_ITEMS (AREA_WORDS < ITEMS ? AREA_WORDS : ITEMS)
#define FILL_ROWS (ITEMS / FILL_ITEMS)
#ifdef GROUP_SIZE
#define FILL_PASSES ((AREA_ROWS + FILL_ROWS - 1) / FILL_ROWS)
#define FILL_BATCHES ((FILL_PASSES + 7) / 8)
#define FILL_BATCH ((FILL_PASSES + FILL_BATCHES - 1) / FILL_BATCHES)
#else
#define FILL_BATCH 1
#endif

// First candidate row of a run in its tile.
#define FIRST_ROW(run) min((int)(run) * ROWS, TILE_ROWS - ROWS)

// Row and column of blocks in the group, and the run, by task. Tasks count through columns of
// candidates, blocks across, runs, blocks down: blocks beside each other share samples, and so
// banks, where items in step hold parts of two.
#define RUN(task) ((task) / (uint)(TILE_COLUMNS * BLOCKS_ACROSS) % (uint)RUNS)
#define BLOCK_COLUMN(task) ((task) / (uint)TILE_COLUMNS % (uint)BLOCKS_ACROSS)
#define BLOCK_ROW(task) ((task) / (uint)(TILE_COLUMNS * BLOCKS_ACROSS * RUNS))

// Strips that are unrolled: all of a row, or one.
#ifndef UNROLL_WORDS
#define UNROLL_WORDS 1
#endif

// Copies `count` vectors to an array of words; all indices are known when compiled.
#define LOAD_VECTORS(to, from, count)            \
    _Pragma("unroll") for (int n = 0; n < (count); ++n) \
    {                                            \
        const uint4 vector = (from)[n];          \
        (to)[4 * n] = vector.x;                  \
        (to)[4 * n + 1] = vector.y;              \
        (to)[4 * n + 2] = vector.z;              \
        (to)[4 * n + 3] = vector.w;              \
    }

// Notes the best candidate of a task's run, whose costs are given. x, y: the sample at which the first
// block is compared with the tile's first candidate.
static inline void note_best(const uint *costs, uint task, int x, int y, Shape shape, Geometry g,
                             __local const uint4 *ranks, __local uint *found, __local uint *least_costs)
{
    const uint tx = task % TILE_COLUMNS, run = RUN(task), bx = BLOCK_COLUMN(task), by = BLOCK_ROW(task);
    uint rank[4 * RUN_VECTORS], least = UINT_MAX;
    LOAD_VECTORS(rank, ranks + run * RUN_VECTORS, RUN_VECTORS);
    // Rows first_inside to last_inside of the run count, none where the column does not.
    const int left = x + (int)(bx * BLOCK + tx), top = y + (int)by * BLOCK + FIRST_ROW(run);
    const bool column_inside = left >= 0 && left + BLOCK <= g.extended_width;
    const int first_inside = !INSIDE_ONLY ? 0 : column_inside ? -g.above - top : ROWS;
    const int last_inside = !INSIDE_ONLY ? ROWS - 1 : g.extended_height - BLOCK - top;
#pragma unroll
    for (int v = 0; v < ROWS; ++v) {
        const uint key = costs[v] * RANKS + rank[v];
        least = min(least, first_inside <= v && v <= last_inside ? key : UINT_MAX);
    }
    found[task] = least;
    atomic_min(&least_costs[by * BLOCKS_ACROSS + bx], least / RANKS);
}

// The four samples that start `skew` samples, 0 to 6, into three words.
static inline uint skewed(const uint *words, uint skew)
{
    return skew < 4 ? join_words(words[0], words[1], skew) : join_words(words[1], words[2], skew - 4);
}

__kernel FIXED_GROUP void tiled(__global const uchar *restrict current,
                                __global const uchar *restrict reference,
                                __global MotionVector *restrict vectors, Shape shape, Geometry g)
{
    __local uint4 memory[LOCAL_VECTORS];
    __local uint4 *strips = memory, *ranks = strips + BLOCKS * BLOCK_VECTORS;
    __local uint *area = (__local uint *)(ranks + RUNS * RUN_VECTORS), *y_ties = area + 4 * COPY_WORDS;
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

    // Item i keeps the best of block i.
    ulong best = WORST_KEY;
    for (int next_y = 0; next_y < WINDOW_ROWS; next_y += TILE_ROWS) {
        for (int next_x = 0; next_x < WINDOW_COLUMNS - TILE_COLUMNS + TILE_STEP; next_x += TILE_STEP) {
            const int tile_x = min(next_x, WINDOW_COLUMNS - TILE_COLUMNS);
            const int tile_y = min(next_y, WINDOW_ROWS - TILE_ROWS);
            const int x0 = g.x0 + tile_x, y0 = g.y0 + tile_y;

            __global const uchar *corner =
                sample_at(reference, g, column * BLOCK + x0 - (int)SKEW, row * BLOCK + y0);
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
                            to[0] = skewed(words[n], SKEW);
                            to[COPY_WORDS] = skewed(words[n], SKEW + 1);
                            to[2 * COPY_WORDS] = skewed(words[n], SKEW + 2);
                            to[3 * COPY_WORDS] = skewed(words[n], SKEW + 3);
                        }
                }
            }
#pragma unroll 1
            for (uint i = item; i < RUNS * ROWS; i += ITEMS) {
                // Nearest to zero first, above before below; past the nearer end one side is left.
                const uint run = i / ROWS, v = i % ROWS;
                const int top = y0 + FIRST_ROW(run), bottom = top + ROWS - 1, y = top + (int)v;
                const int nearest = clamp(0, top, bottom), away = (int)abs(y - nearest);
                const int both = min(nearest - top, bottom - nearest);
                const int rank = away <= both ? 2 * away - (y < nearest) : away + both;
                ((__local uint *)(ranks + run * RUN_VECTORS))[v] = (uint)rank;
                y_ties[run * RANKS + (uint)rank] = (uint)order_key(0, 0, y);
            }
#if SLICES > 1
            for (uint i = item; i < ROWS * TASKS; i += ITEMS)
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
                const uint bx = BLOCK_COLUMN(task), by = BLOCK_ROW(task), at = bx * BLOCK + task % TILE_COLUMNS;
                __local const uint *part_samples =
                    area + at % 4 * COPY_WORDS + at / 4 +
                    (by * BLOCK + first_part * PART + FIRST_ROW(RUN(task))) * AREA_WORDS;
                __local const uint4 *strip = strips + (by * BLOCKS_ACROSS + bx) * BLOCK_VECTORS +
                                             first_part * BLOCK_WORDS * PART_VECTORS;
                uint costs[ROWS];
#pragma unroll
                for (int v = 0; v < ROWS; ++v)
                    costs[v] = 0;
#pragma unroll 1
                for (int part = 0; part < SLICE_PARTS; ++part, part_samples += PART * AREA_WORDS) {
#pragma unroll UNROLL_WORDS
                    for (int j = 0; j < BLOCK_WORDS; ++j, strip += PART_VECTORS) {
                        __local const uint *samples = part_samples + j;
                        uint c[4 * PART_VECTORS];
                        LOAD_VECTORS(c, strip, PART_VECTORS);
#pragma unroll
                        for (int i = 0; i < ROWS + PART - 1; ++i) {
                            const uint r = samples[i * AREA_WORDS];
#pragma unroll
                            for (int k = 0; k < PART; ++k)
                                if (0 <= i - k && i - k < ROWS)
                                    costs[i - k] = compare_four(c[k], r, costs[i - k]);
                        }
                    }
                }
#if SLICES == 1
                note_best(costs, task, left, top, shape, g, ranks, found, least_costs);
#else
#pragma unroll
                for (int v = 0; v < ROWS; ++v)
                    atomic_add(&sums[v * TASKS + task], costs[v]);
#endif
            }
#if SLICES > 1
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
            for (uint task = item; task < TASKS; task += ITEMS) {
                uint costs[ROWS];
#pragma unroll
                for (int v = 0; v < ROWS; ++v)
                    costs[v] = sums[v * TASKS + task];
                note_best(costs, task, left, top, shape, g, ranks, found, least_costs);
            }
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
            for (uint task = item; task < TASKS; task += ITEMS) {
                const uint block = BLOCK_ROW(task) * BLOCKS_ACROSS + BLOCK_COLUMN(task);
                const uint least = found[task];
                if (least / RANKS == least_costs[block]) {
                    // The two parts of a tie share no bit but those of |x| + |y|, which add up.
                    const int x = x0 + (int)(task % TILE_COLUMNS);
                    const uint x_tie = abs(x) << 16 | (uint)(x > 0);
                    const uint rank = min(least % RANKS, (uint)(ROWS - 1));
                    atomic_min(&least_ties[block], x_tie + y_ties[RUN(task) * RANKS + rank]);
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
