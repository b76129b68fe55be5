// Made frames with quality=balanced and quality=high: how well the vectors around each block match. mixing.cl makes the planes.
//
// The oracle, interpolation/oracle.rs, defines it. -D HIGH=1: what frames before and after show counts, if `has_neighbours`. In the order in which the host launches these kernels, after choose_vectors of
// interpolation.cl:
//
//   compare_blocks   the difference of each block at both ends of its vector
//   spread           twice: the greatest difference around each block; then the mean of these around it, the badness
//   choose_coarse    the vectors of coarse blocks
//   weigh_vectors    the weights of the vectors around a block
//
// hypotheses.cl has the layout of what they write.

// Names in capitals that no kernel file defines are constants of motion-frames' `interpolation/rules.rs`, which says what they are.

#include "common.cl"
#include "points.cl"
#include "hypotheses.cl"

// Items that share a coarse block, 1 to 8.
#ifndef ITEMS
#define ITEMS 8
#endif

// Coarse blocks of a group.
#ifndef LANES
#define LANES 8
#endif

// The candidates of a coarse block: the vectors of the first blocks of the coarse blocks up to COARSE_REACH away on each axis,
// and zero.
#define COARSE_SIDE (2 * COARSE_REACH + 1)
#define COARSE_CANDIDATES (COARSE_SIDE * COARSE_SIDE + 1)

// The sum of absolute differences at both ends of a vector over 8 x 8 samples from `place` on, in every row of `step`, `step`
// times.
static inline uint block_difference(__global const uchar *previous, __global const uchar *next, FrameShape f, int2 place,
                                    PhaseVector vector, int step)
{
    const int4 quarters = convert_int4(vector);
    uint difference = 0;
    for (int row = 0; row < SIDE; row += step) {
        const int2 start = 4 * (place + (int2)(0, row)) + quarters.xy;
        const uint2 a = eight_samples(previous, f, start), b = eight_samples(next, f, start + quarters.zw);
        difference = compare_four(a.y, b.y, compare_four(a.x, b.x, difference));
    }
    return (uint)step * difference;
}

#if HIGH
// The difference between the sums of the samples at both ends of a vector over 8 x 8 samples from `place` on, in every row of
// ROW_STEP, ROW_STEP times.
static inline uint brightness_difference(__global const uchar *previous, __global const uchar *next, FrameShape f, int2 place,
                                         PhaseVector vector)
{
    const int4 quarters = convert_int4(vector);
    uint starts = 0, ends = 0;
    for (int row = 0; row < SIDE; row += ROW_STEP) {
        const int2 start = 4 * (place + (int2)(0, row)) + quarters.xy;
        const uint2 a = eight_samples(previous, f, start), b = eight_samples(next, f, start + quarters.zw);
        starts = compare_four(a.y, 0, compare_four(a.x, 0, starts));
        ends = compare_four(b.y, 0, compare_four(b.x, 0, ends));
    }
    return ROW_STEP * abs_diff(starts, ends);
}

// The same between the start of a vector and where it comes from in the frame before.
static inline uint start_difference(__global const uchar *before, __global const uchar *previous, FrameShape f, int2 place,
                                    PhaseVector vector, int step)
{
    return block_difference(before, previous, f, place, (PhaseVector)(vector.xy - vector.zw, vector.zw), step);
}

// The same between the end of a vector and where it leads to in the frame after.
static inline uint end_difference(__global const uchar *next, __global const uchar *after, FrameShape f, int2 place,
                                  PhaseVector vector, int step)
{
    return block_difference(next, after, f, place, (PhaseVector)(vector.xy + vector.zw, vector.zw), step);
}

// The block at a position, in quarter samples; outside the grid the nearest one.
static inline int2 block_at(FrameShape f, int2 position)
{
    return clamp(position >> 5, (int2)(0, 0), (int2)(f.columns, f.rows) - 1);
}

// How much what a block shows may be left out, by the cost at which the search found it in the other frame.
static inline uint shown_elsewhere(uint cost)
{
    return min(sub_sat((uint)FOUND_COST, cost) >> FOUND_SHIFT, (uint)MOST_LONE);
}

// How much the start and the end of a vector count alone in the cell with its first sample at `cell`, where both ends have this
// difference, whatever the light. `found` is the field of the previous frame in the next one, `costs` the least cost of its vectors that lead to each
// block of the next one.
static inline uint2 lone_shares(__global const MotionVector *found, __global const uint *costs, FrameShape f, int2 cell,
                                PhaseVector vector, uint difference)
{
    const int4 quarters = convert_int4(vector);
    const int2 start = 4 * (cell + 2) + quarters.xy;
    const int2 from = block_at(f, start) >> f.halvings, to = block_at(f, start + quarters.zw);
    // Each end leaves out what the other one shows.
    const uint2 shown = (uint2)(shown_elsewhere(costs[to.y * f.columns + to.x]),
                                shown_elsewhere(found[from.y * f.found_columns + from.x].cost));
    const uint unlikeness = min(sub_sat(difference, (uint)LONE_DIFFERENCE) >> LONE_SHIFT, (uint)MOST_LONE);
    return unlikeness * shown / MOST_LONE;
}
#endif

// An item compares a block.
__kernel void compare_blocks(__global const uchar *previous, __global const uchar *next, __global const PhaseVector *chosen,
                             __global uint *differences, FrameShape f
#if HIGH
                             , __global const uchar *before, __global const uchar *after, int has_neighbours
#endif
)
{
    const int column = (int)get_global_id(0), row = (int)get_global_id(1);
    if (column >= f.columns || row >= f.rows)
        return;
    const int block = row * f.columns + column;
    const int2 place = SIDE * (int2)(column, row);
    uint difference = block_difference(previous, next, f, place, chosen[block], 1);
#if HIGH
    if (has_neighbours && difference > LONE_COST) {
        difference = min(difference, LONE_COST + start_difference(before, previous, f, place, chosen[block], 1));
        difference = min(difference, LONE_COST + end_difference(next, after, f, place, chosen[block], 1));
    }
#endif
    differences[block] = difference;
}

// The greatest or, if `is_mean`, the mean of the numbers around each block. The blocks at the edges repeat.
__kernel void spread(__global const uint *from, __global uint *to, FrameShape f, int is_mean)
{
    const int column = (int)get_global_id(0), row = (int)get_global_id(1), reach = 1 << f.halvings;
    if (column >= f.columns || row >= f.rows)
        return;
    uint greatest = 0, sum = 0;
    for (int down = -reach; down <= reach; ++down) {
        for (int right = -reach; right <= reach; ++right) {
            const int2 at = clamp((int2)(column + right, row + down), (int2)(0, 0), (int2)(f.columns, f.rows) - 1);
            const uint number = from[at.y * f.columns + at.x];
            greatest = max(greatest, number);
            sum += number;
        }
    }
    const uint side = 2 * (uint)reach + 1;
    to[row * f.columns + column] = is_mean ? sum / (side * side) : greatest;
}

// Whether the vector of a coarse block counts anywhere: in the blocks from the centre of the one before to that of the one behind.
static inline bool is_used(__global const uint *badness, FrameShape f, int2 coarse_block)
{
    const int halves = 1 << f.halvings;
    const int2 first = max((2 * coarse_block - 1) * halves, (int2)(0, 0));
    const int2 end = min((2 * coarse_block + 3) * halves, (int2)(f.columns, f.rows));
    uint greatest = 0;
    for (int row = first.y; row < end.y; ++row) {
        for (int column = first.x; column < end.x; ++column)
            greatest = max(greatest, badness[row * f.columns + column]);
    }
    return share_of(greatest) > 0;
}

// Candidate `number` of a coarse block.
static inline PhaseVector coarse_candidate(__global const PhaseVector *chosen, FrameShape f, int2 block, int number)
{
    if (number == COARSE_CANDIDATES - 1)
        return (PhaseVector)(0);
    const int2 step = (int2)(number % COARSE_SIDE, number / COARSE_SIDE) - COARSE_REACH;
    const int2 at = clamp((block + step) * (2 << f.halvings), (int2)(0, 0), (int2)(f.columns, f.rows) - 1);
    return chosen[at.y * f.columns + at.x];
}

// Chooses the vectors of coarse blocks that count anywhere. Items ITEMS * l to ITEMS * (l + 1) - 1 of a group share its block l.
__kernel __attribute__((reqd_work_group_size(ITEMS * LANES, 1, 1)))
void choose_coarse(__global const uchar *previous, __global const uchar *next, __global const PhaseVector *chosen,
                   __global const uint *badness, __global PhaseVector *coarse, FrameShape f)
{
    __local uint lanes[LANES * COARSE_CANDIDATES];
    const int item = (int)get_local_id(0) % ITEMS, lane = (int)get_local_id(0) / ITEMS;
    const int2 grid = coarse_grid(f);
    const int number = (int)get_group_id(0) * LANES + lane;
    // Without a block, items do the last one again and write nothing.
    const int index = min(number, grid.x * grid.y - 1);
    const int2 block = (int2)(index % grid.x, index / grid.x);
    const bool is_wanted = is_used(badness, f, block);
    __local uint *costs = lanes + lane * COARSE_CANDIDATES;
    for (int c = item; is_wanted && c < COARSE_CANDIDATES; c += ITEMS) {
        const PhaseVector vector = coarse_candidate(chosen, f, block, c);
        const int2 length = convert_int2(abs(convert_int2(vector.zw)));
        // Of half samples.
        uint cost = COARSE_LENGTH * (uint)((length.x + length.y) / 2);
        for (int square = 0; square < COARSE_SQUARES * COARSE_SQUARES; ++square) {
            const int2 at = 2 * block + (int2)(square % COARSE_SQUARES, square / COARSE_SQUARES);
            cost += block_difference(previous, next, f, at * (SIDE << f.halvings) - SIDE / 2, vector, ROW_STEP);
        }
        costs[c] = cost;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 && is_wanted && number < grid.x * grid.y) {
        int best = 0;
        for (int c = 1; c < COARSE_CANDIDATES; ++c)
            best = costs[c] < costs[best] ? c : best;
        coarse[number] = coarse_candidate(chosen, f, block, best);
    }
}

// The weight of a match with this error, if the best one has the error `least`.
static inline uint weight_of(uint least, uint error)
{
    const uint ratio = (least << 8) / error;
    return clamp(ratio * ratio >> 8, 1u, 255u);
}

// Weighs the vectors around a block. An item weighs them in one of its cells; in the first dimension are the cells of a block,
// one after the other.
__kernel void weigh_vectors(__global const uchar *previous, __global const uchar *next, __global const PhaseVector *chosen,
                            __global const PhaseVector *coarse, __global const uint *badness, __global uchar *weights,
                            FrameShape f
#if HIGH
                            , __global const uchar *before, __global const uchar *after, int has_neighbours,
                            __global const MotionVector *found, __global const uint *costs
#endif
)
{
    const int2 block = (int2)((int)get_global_id(0) / 4, (int)get_global_id(1));
    const int cell = (int)get_global_id(0) % 4;
    if (block.x >= f.columns || block.y >= f.rows)
        return;
    Hypotheses h;
    find_hypotheses(chosen, coarse, badness, f, block, &h);
    // One vector whose ends predict together needs no weights.
#if HIGH
    if (h.count == 1 && !has_neighbours)
#else
    if (h.count == 1)
#endif
        return;
    const int number = block.y * f.columns + block.x;
    const uint softness = SOFTNESS + (3 * badness[number] >> 2);
    // Two samples around the cell of 4 x 4.
    const int2 place = SIDE * block + SIDE / 2 * (int2)(cell & 1, cell >> 1) - 2;
    uint errors[HYPOTHESES], least = ~0u;
#if HIGH
    // Of the start and of the end.
    uint2 lone_errors[HYPOTHESES], shares[HYPOTHESES];
#endif
    for (int k = 0; k < h.count; ++k) {
        const PhaseVector vector = h.vectors[k];
        const uint difference = block_difference(previous, next, f, place, vector, ROW_STEP);
        errors[k] = difference + softness;
        least = min(least, errors[k]);
#if HIGH
        shares[k] = (uint2)(0);
        if (has_neighbours)
            // A change of light makes all samples brighter, or all darker.
            shares[k] = lone_shares(found, costs, f, place + 2, vector,
                                    difference - brightness_difference(previous, next, f, place, vector));
        if (shares[k].x > 0) {
            lone_errors[k].x = start_difference(before, previous, f, place, vector, ROW_STEP) + LONE_COST + softness;
            least = min(least, lone_errors[k].x);
        }
        if (shares[k].y > 0) {
            lone_errors[k].y = end_difference(next, after, f, place, vector, ROW_STEP) + LONE_COST + softness;
            least = min(least, lone_errors[k].y);
        }
#endif
    }
    weights += number * HYPOTHESES * MATCHES * 4 + cell;
    for (int k = 0; k < h.count; ++k) {
        __global uchar *of_vector = weights + k * MATCHES * 4;
        of_vector[0] = (uchar)weight_of(least, errors[k]);
#if HIGH
        const uint start = shares[k].x > 0 ? weight_of(least, lone_errors[k].x) : 0;
        const uint end = shares[k].y > 0 ? weight_of(least, lone_errors[k].y) : 0;
        of_vector[4] = (uchar)(start * shares[k].x / MOST_LONE);
        of_vector[8] = (uchar)(end * shares[k].y / MOST_LONE);
#endif
    }
}
