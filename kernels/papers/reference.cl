// The Reference Method: a work-group a block, its work-items the candidates.
//
// A. Uta, "Collaborative Multi-Device Motion Estimation on Multi/Many-Core Platforms" (2012):
// `reference_naive` is section 6.1, figure 3; `reference_staged` is section 6.1.1, figure 4.
//
//   group    block (group % columns, group / columns)
//   vectors  record of block (column, row) at row * columns + column
//
// A group may have any number of items: item i takes candidate i and every group-size-th after it.
//
// Departures. The thesis keeps the smallest cost; here order keys are reduced, so that ties fall the
// same way on every device. The thesis' group is a square with item 0 at the window's top left; here
// it is one-dimensional, and candidates are numbered row by row.
//
// M. F. Halldal, "Exploring computational capabilities of GPUs using H.264 prediction algorithms"
// (2012), sections 6.1 and 6.2, is this method with blocks of 4 x 4, 29 x 29 candidates and border
// restrict: groups of 841 items (6.1.1) and of 29 x 15 = 435 (6.1.2), whose item i takes candidates i
// and i + 435, in the same column 15 rows below. `reference_naive` reads global memory (6.1),
// `reference_staged` local memory (6.2). His window moves inwards at the frame's left and top edge
// (listing 6.1); here it does not move, and candidates that reach outside do not count. He adds the
// last of an odd number of costs separately (6.1.1); `smallest_key` needs no such case.
//
// The cost of a candidate that does not count is computed from the margin of the frame, and its key
// is left out: a branch around a loop diverges on a GPU, and in a kernel with barriers PoCL 3.1 runs
// such a loop for the wrong items. For the same reason all items run every loop equally often, and
// those past the last candidate repeat it.

#include "../common.cl"

// Figure 3: every sample is read from global memory. In the thesis the group has exactly one item a
// candidate, which is the limitation of the method.
//
//   keys  the best key of each item so far. With it in a private variable, some builds by PoCL 6.0 find a
//         candidate that is not the best
__kernel FIXED_GROUP void reference_naive(__global const uchar *current, __global const uchar *reference,
                                          __global MotionVector *vectors, __local ulong *keys, Geometry g)
{
    const int block = (int)get_group_id(0), item = (int)get_local_id(0);
    const int items = (int)get_local_size(0), candidates = g.window_columns * g.window_rows;
    const int column = block % g.columns, row = block / g.columns;

    keys[item] = WORST_KEY;
    for (int first = 0; first < candidates; first += items) {
        const int2 d = displacement_at(g, min(first + item, candidates - 1));
        uint cost = 0;
        for (int i = 0; i < BLOCK; ++i) {
            __global const sample_t *c = sample_at(current, g, column * BLOCK, row * BLOCK + i);
            __global const sample_t *r = sample_at(reference, g, column * BLOCK + d.x, row * BLOCK + i + d.y);
            for (int j = 0; j < BLOCK; ++j)
                cost += compare_sample(c[j], r[j]);
        }
        const ulong key = counts(g, column, row, d.x, d.y) ? order_key(cost, d.x, d.y) : WORST_KEY;
        keys[item] = min(keys[item], key);
    }
    smallest_key(keys, (uint)items);
    if (item == 0)
        vectors[block] = vector_of_key(keys[0]);
}

#ifdef SINGLE_SAMPLES

// As section 8.2 describes figure 4: each item copies single samples, and compares one at a time. With STAGED_INTS each
// takes an int in local memory, as in Halldal's listing 6.4: adjacent items then read adjacent banks.
#ifdef STAGED_INTS
typedef uint staged_t;
#else
typedef sample_t staged_t;
#endif
#define STAGED_SAMPLES 1
#define ELEMENTS_FOR(SAMPLES) (SAMPLES)
DEFINE_STAGE(stage, staged_t, sample_t)

static inline uint cost_of(__local const staged_t *c, __local const staged_t *r, int area_columns, uint shift)
{
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i, r += area_columns, c += BLOCK)
        for (int j = 0; j < BLOCK; ++j) {
            const uint difference = abs_diff(c[j], r[j]);
            cost += TERM(difference);
        }
    return cost;
}

#else

// The samples of a word are compared at a time, and misaligned ones are joined from two words.
typedef uint staged_t;
#define STAGED_SAMPLES WORD_SAMPLES
// The first sample may be anywhere in its word, and joining needs the word after the last one.
#define ELEMENTS_FOR(SAMPLES) (((SAMPLES) - 1) / WORD_SAMPLES + 2)
#define stage stage_words

static inline uint cost_of(__local const staged_t *c, __local const staged_t *r, int area_columns, uint shift)
{
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i, r += area_columns, c += BLOCK_WORDS) {
        uint low = r[0];
        for (int j = 0; j < BLOCK_WORDS; ++j) {
            const uint high = r[j + 1];
            cost = compare_word(c[j], join_words(low, high, shift), cost);
            low = high;
        }
    }
    return cost;
}

#endif

// Figure 4: block and search area are staged in local memory, adjacent items reading adjacent elements: words,
// or samples with SINGLE_SAMPLES.
//
// The thesis has two limits: as many items as candidates, and local memory for the whole area. Its
// sections 5 and 9 propose what removes both: the window is cut into tiles of tile_columns x tile_rows
// candidates, whose area fits `area`, and each item takes every group-size-th candidate of a tile.
//
//   block_staged  element j of the block's row i at i * BLOCK / STAGED_SAMPLES + j
//   area          element j of the area's row i at i * area_columns + j; the area's first sample is
//                 `skew` samples into its first element
//   area_words    words of a row of the area, at least (tile_columns + BLOCK - 2) / WORD_SAMPLES + 2
__kernel FIXED_GROUP void reference_staged(__global const uchar *current, __global const uchar *reference,
                                           __global MotionVector *vectors, __local ulong *keys,
                                           __local staged_t *block_staged, __local staged_t *area, int area_words,
                                           int tile_columns, int tile_rows, Geometry g)
{
    const int block = (int)get_group_id(0), item = (int)get_local_id(0);
    const int items = (int)get_local_size(0);
    const int area_columns = area_words * (WORD_SAMPLES / STAGED_SAMPLES);
    const int column = block % g.columns, row = block / g.columns;

    stage(block_staged, BLOCK / STAGED_SAMPLES, sample_at(current, g, column * BLOCK, row * BLOCK), g.pitch,
          BLOCK / STAGED_SAMPLES, BLOCK);

    ulong best = WORST_KEY;
    for (int tile_y = 0; tile_y < g.window_rows; tile_y += tile_rows) {
        const int candidate_rows = min(tile_rows, g.window_rows - tile_y);
        for (int tile_x = 0; tile_x < g.window_columns; tile_x += tile_columns) {
            const int candidate_columns = min(tile_columns, g.window_columns - tile_x);
            const int first_x = g.x0 + tile_x, first_y = g.y0 + tile_y;
            // `left` is a multiple of 4, so the sample's x alone decides its alignment.
            const int area_x = column * BLOCK + first_x, skew = area_x & (STAGED_SAMPLES - 1);

            stage(area, area_columns, sample_at(reference, g, area_x - skew, row * BLOCK + first_y), g.pitch,
                  ELEMENTS_FOR(candidate_columns + BLOCK - 1), candidate_rows + BLOCK - 1);
            barrier(CLK_LOCAL_MEM_FENCE);

            const int candidates = candidate_rows * candidate_columns;
            for (int first = 0; first < candidates; first += items) {
                const int k = min(first + item, candidates - 1);
                const int tx = k % candidate_columns, ty = k / candidate_columns;
                const int x = first_x + tx, y = first_y + ty;
                const uint shift = (uint)(tx + skew) & (STAGED_SAMPLES - 1);
                const uint cost = cost_of(block_staged, area + ty * area_columns + (tx + skew) / STAGED_SAMPLES,
                                          area_columns, shift);
                best = counts(g, column, row, x, y) ? min(best, order_key(cost, x, y)) : best;
            }
            // The next tile overwrites the area.
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    keys[item] = best;
    smallest_key(keys, (uint)items);
    if (item == 0)
        vectors[block] = vector_of_key(keys[0]);
}
