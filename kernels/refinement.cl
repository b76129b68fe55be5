// What follows the search of a level: passes 8 to 12 of the definition of hierarchical search, the oracle hierarchical/mod.rs.
//
//   check_level   two fields of opposite directions check each other, and cells that fail take vectors near them
//   refine        the finest field in 64ths of a sample: where a parabola through three costs is lowest
//   smooth        four steps of smoothing, and the vector median
//   check_finest  as check_level, in 64ths of a sample
//
// levels.cl has the layout of levels and fields; vectors in 64ths of a sample are int2, one a cell.

#include "common.cl"
#include "levels.cl"
#include "fields.cl"

// A vector of pass 9 and the curvatures of its parabolas: (x, y, curvature of x, curvature of y).
typedef int4 Peak;

// Steps of the refill. Each reads the cells around, so that a tile begins with as many cells around it.
#define REFILL_STEPS 8
#define CHECK_SIDE (TILE + 2 * REFILL_STEPS)
#define CHECK_CELLS (CHECK_SIDE * CHECK_SIDE)

// States of a cell in a check.
#define OUTSIDE 0
#define BAD 1
#define GOOD 2

// The tile of a check in local memory. Steps alternate between the two states.
typedef struct {
    int2 vectors[CHECK_CELLS];
    uchar states[2][CHECK_CELLS];
    uchar means[CHECK_CELLS];
    int is_bad[REFILL_STEPS + 1];  // whether any cell is bad before each step
} CheckTile;

// Units of a vector a sample, and how much two vectors may differ, besides a share of their length.
typedef struct {
    int units, tolerance;
} CheckScale;

// The cell of the opposite field to which `vector` leads from `cell`, or -1 if there is none.
static inline int opposite_cell(Level level, CheckScale scale, int2 cell, int2 vector)
{
    const int2 position = (CELL * cell + CELL / 2) * scale.units + vector;
    const int2 there = position / (CELL * scale.units);
    return all(position >= 0) && has_cell(size_in_cells(level), there) ? there.y * level.columns + there.x : -1;
}

// Whether a vector and the opposite one nearly cancel each other.
static inline bool agree(CheckScale scale, int2 vector, int2 opposite)
{
    return length_of(vector + opposite) < scale.tolerance + (length_of(vector) >> 5);
}

// One step: bad cells with two good ones around them take their median. What is nearer to the edge of the tile than
// `step` is out of date already.
static inline void refill(__local CheckTile *tile, int step)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    __local const uchar *states = tile->states[(step + 1) & 1];
    __local uchar *next = tile->states[step & 1];
    for (int start = 0; start < CHECK_CELLS; start += items) {
        const int i = start + item, x = i % CHECK_SIDE, y = i / CHECK_SIDE;
        const bool is_known = min(x, y) >= step && max(x, y) < CHECK_SIDE - step;
        if (i < CHECK_CELLS) {
            uchar state = states[i];
            if (state == BAD && is_known) {
                int2 vectors[9];
                int weights[9], good = 0;
#pragma unroll
                for (int k = 0; k < 9; ++k) {
                    const int j = i + (k / 3 - 1) * CHECK_SIDE + k % 3 - 1;
                    const bool is_good = states[j] == GOOD;
                    good += is_good;
                    vectors[k] = is_good ? tile->vectors[j] : (int2)(0);
                    weights[k] = is_good ? likeness(tile->means[j], tile->means[i]) : 0;
                }
                if (good >= 2) {
                    tile->vectors[i] = vector_median(vectors, weights, false);
                    state = GOOD;
                } else {
                    tile->is_bad[step] = 1;
                }
            }
            next[i] = state;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Puts cell i of the tile there: its vector, and whether it is good.
static inline void put_cell(__local CheckTile *tile, int i, int2 vector, uint word, bool is_good)
{
    tile->vectors[i] = vector;
    tile->means[i] = (uchar)CELL_MEAN(word);
    tile->states[0][i] = is_good ? GOOD : BAD;
    if (!is_good)
        tile->is_bad[0] = 1;
}

static inline void clear_tile(__local CheckTile *tile)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    for (int start = 0; start < REFILL_STEPS + 1; start += items)
        if (start + item < REFILL_STEPS + 1)
            tile->is_bad[start + item] = 0;
    for (int start = 0; start < CHECK_CELLS; start += items)
        if (start + item < CHECK_CELLS)
            tile->states[0][start + item] = OUTSIDE;
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline void refill_all(__local CheckTile *tile)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step <= REFILL_STEPS && tile->is_bad[step - 1]; ++step)
        refill(tile, step);
}

static inline int2 cell_of_tile(int2 corner, int i)
{
    return corner + (int2)(i % CHECK_SIDE, i / CHECK_SIDE);
}

// Where cell i of the inner tile lies in the whole tile.
static inline int inner_cell(int i)
{
    return (i / TILE + REFILL_STEPS) * CHECK_SIDE + i % TILE + REFILL_STEPS;
}

// Pass 8, of the direction that is the group's second index. If `finds_offsets`, the cells get the offsets of their
// new vectors. Fields are cells from `from` and `to` on, those of direction 1 `opposite` further.
__kernel FIXED_GROUP void check_level(__global const uchar *current, __global const uchar *reference,
                                      __global CellMotion *fields,
                                      Level level, int from, int to, int opposite, int finds_offsets)
{
    __local CheckTile tile;
    const int item = (int)get_local_id(0), items = (int)get_local_size(0), direction = (int)get_group_id(1);
    __global const uchar *own = direction ? reference : current;
    __global const uchar *other = direction ? current : reference;
    __global const uint *words = cell_words(own, level);
    __global const CellMotion *field = fields + from + (direction ? opposite : 0);
    __global const CellMotion *backward = fields + from + (direction ? 0 : opposite);
    __global CellMotion *target = fields + to + (direction ? opposite : 0);
    const CheckScale scale = {4, 8};
    const int2 corner = tile_corner(level.columns, REFILL_STEPS);
    clear_tile(&tile);
    for (int start = 0; start < CHECK_CELLS; start += items) {
        const int i = start + item;
        const int2 cell = cell_of_tile(corner, i);
        if (i < CHECK_CELLS && has_cell(size_in_cells(level), cell)) {
            const int index = cell.y * level.columns + cell.x;
            const int2 vector = convert_int2(field[index].xy);
            const int there = opposite_cell(level, scale, cell, vector);
            const bool is_good = there >= 0 && agree(scale, vector, convert_int2(backward[max(there, 0)].xy));
            put_cell(&tile, i, vector, words[index], is_good);
        }
    }
    refill_all(&tile);
    for (int start = 0; start < TILE * TILE; start += items) {
        const int i = inner_cell(start + item);
        const int2 cell = cell_of_tile(corner, i);
        if (start + item < TILE * TILE && has_cell(size_in_cells(level), cell)) {
            const int index = cell.y * level.columns + cell.x;
            const int2 vector = tile.vectors[i];
            int offset = 0;
            if (finds_offsets) {
                uint samples[CELL_WORDS];
                read_cell(other, level, 4 * CELL * cell + vector, samples);
                offset = brightness_between(CELL_SUM(words[index]), samples);
            }
            target[index] = convert_short4((int4)(vector, 0, offset));
        }
    }
}

// Pass 12, for direction 0, of the two fields that `smooth` leaves.
__kernel FIXED_GROUP void check_finest(__global const uchar *current,
                                       __global const int2 *smooth_vectors, __global int2 *target, Level level)
{
    __local CheckTile tile;
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int cells = level.columns * level.rows;
    __global const uint *words = cell_words(current, level);
    __global const int2 *forward = smooth_vectors, *backward = forward + cells;
    const CheckScale scale = {64, 96};
    const int2 corner = tile_corner(level.columns, REFILL_STEPS);
    clear_tile(&tile);
    for (int start = 0; start < CHECK_CELLS; start += items) {
        const int i = start + item;
        const int2 cell = cell_of_tile(corner, i);
        if (i < CHECK_CELLS && has_cell(size_in_cells(level), cell)) {
            const int index = cell.y * level.columns + cell.x;
            const int there = opposite_cell(level, scale, cell, forward[index]);
            const bool is_good = there >= 0 && agree(scale, forward[index], backward[max(there, 0)]);
            put_cell(&tile, i, forward[index], words[index], is_good);
        }
    }
    refill_all(&tile);
    for (int start = 0; start < TILE * TILE; start += items) {
        const int i = inner_cell(start + item);
        const int2 cell = cell_of_tile(corner, i);
        if (start + item < TILE * TILE && has_cell(size_in_cells(level), cell))
            target[cell.y * level.columns + cell.x] = tile.vectors[i];
    }
}

// The cost of a cell at `step` from its vector, as in the search.
static inline int cost_beside(__global const uchar *own, __global const uchar *other, Level level, int index,
                              CellMotion motion, int2 step)
{
    const int2 cell = (int2)(index % level.columns, index / level.columns);
    __global const uchar *origin = own + (size_t)level.origin * UNIT;
    uint samples[CELL_WORDS], cost = 0;
    read_cell(other, level, 4 * CELL * cell + convert_int2(motion.xy) + step, samples);
    const uint word = cell_words(own, level)[index];
    int offset = motion.w;
#if BRIGHTNESS
    offset = brightness_between(CELL_SUM(word), samples);
    cost = OFFSET_PENALTY * (uint)abs(offset);
#endif
    const bool clips = CELL_REACH(word) < (int)abs(offset);
#pragma unroll
    for (int row = 0; row < CELL; ++row) {
        __global const uint *from =
            (__global const uint *)(origin + ((CELL * cell.y + row) * level.pitch + CELL * cell.x));
        cost = compare_four_cut(offset_word(from[0], offset, clips), samples[2 * row], cost);
        cost = compare_four_cut(offset_word(from[1], offset, clips), samples[2 * row + 1], cost);
    }
    return (int)cost;
}

// Where the parabola through the costs before, at and after the middle is lowest, in 32nds of the distance between
// them, and its curvature. Where nothing differs in the middle, the middle is the lowest.
static inline int2 lowest_point(int before, int middle, int after)
{
    const int curvature = max(before + after - 2 * middle, 0);
    const bool is_between = middle > 0 && curvature > 0;
    return (int2)(is_between ? clamp((before - after) * 16 / curvature, -16, 16) : 0, curvature);
}

// Cells of a group of `refine`: an item takes one of the four costs of a cell.
#define REFINED_CELLS 64

// Pass 9, of the direction that is the group's second index. The cells of a group follow each other.
__kernel FIXED_GROUP void refine(__global const uchar *current, __global const uchar *reference,
                                 __global const CellMotion *fields,
                                 __global Peak *peaks, Level level, int from, int opposite)
{
    __local int costs[4 * REFINED_CELLS];
    const int item = (int)get_local_id(0), items = (int)get_local_size(0), direction = (int)get_group_id(1);
    const int cells = level.columns * level.rows, first = (int)get_group_id(0) * REFINED_CELLS;
    __global const uchar *own = direction ? reference : current;
    __global const uchar *other = direction ? current : reference;
    __global const CellMotion *field = fields + from + direction * opposite;
    for (int start = 0; start < 4 * REFINED_CELLS; start += items) {
        const int i = start + item, index = first + i / 4, k = i % 4;
        if (i < 4 * REFINED_CELLS && index < cells)
            costs[i] = cost_beside(own, other, level, index, field[index],
                                   2 * (int2)(neighbour_x(k), neighbour_y(k)));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < REFINED_CELLS; start += items) {
        const int i = start + item, index = first + i;
        if (i < REFINED_CELLS && index < cells) {
            const CellMotion motion = field[index];
            __local const int *around = costs + 4 * i;
            const int middle = (ushort)motion.z;
            const int2 x = lowest_point(around[2], middle, around[3]);
            const int2 y = lowest_point(around[0], middle, around[1]);
            peaks[direction * cells + index] =
                (int4)(16 * convert_int2(motion.xy) + (int2)(x.x, y.x), x.y, y.y);
        }
    }
}

// Steps of smoothing, one cell around the tile for each, and one for the median.
#define SMOOTHING_STEPS 4
#define SMOOTH_MARGIN (SMOOTHING_STEPS + 1)
#define SMOOTH_SIDE (TILE + 2 * SMOOTH_MARGIN)
#define SMOOTH_CELLS (SMOOTH_SIDE * SMOOTH_SIDE)

// A vector after one step of pass 10.
static inline int2 smoothed(int2 vector, Pull pull, Peak peak)
{
    const int2 own = 4 * peak.zw, weights = own + 5 * pull.weights;
    const int2 change = own * (peak.xy - vector) + 5 * pull.sum;
    return vector + (int2)(weights.x ? change.x / weights.x : 0, weights.y ? change.y / weights.y : 0);
}

// Passes 10 and 11, of the direction that is the group's second index. Fields of all cells of a direction follow
// each other.
__kernel FIXED_GROUP void smooth(__global const uchar *current, __global const uchar *reference,
                                 __global const Peak *peaks,
                                 __global int2 *smooth_vectors, Level level)
{
    __local int2 vectors[2][SMOOTH_CELLS];
    __local short means[SMOOTH_CELLS];
    const int item = (int)get_local_id(0), items = (int)get_local_size(0), direction = (int)get_group_id(1);
    const int2 corner = tile_corner(level.columns, SMOOTH_MARGIN);
    __global const uint *words = cell_words(direction ? reference : current, level);
    const int first = direction * level.columns * level.rows;
    peaks += first;
    smooth_vectors += first;
    for (int start = 0; start < SMOOTH_CELLS; start += items) {
        const int i = start + item;
        const int2 cell = corner + (int2)(i % SMOOTH_SIDE, i / SMOOTH_SIDE);
        if (i < SMOOTH_CELLS) {
            const bool exists = has_cell(size_in_cells(level), cell);
            const int index = exists ? cell.y * level.columns + cell.x : 0;
            vectors[0][i] = exists ? peaks[index].xy : (int2)(0);
            means[i] = exists ? (short)CELL_MEAN(words[index]) : (short)NO_CELL;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step <= SMOOTHING_STEPS; ++step) {
        __local const int2 *before = vectors[(step + 1) & 1];
        for (int start = 0; start < SMOOTH_CELLS; start += items) {
            const int i = start + item, x = i % SMOOTH_SIDE, y = i / SMOOTH_SIDE;
            const bool is_known = min(x, y) >= step && max(x, y) < SMOOTH_SIDE - step;
            if (is_known && means[min(i, SMOOTH_CELLS - 1)] != NO_CELL) {
                const int2 cell = corner + (int2)(x, y);
                const Peak peak = peaks[cell.y * level.columns + cell.x];
                vectors[step & 1][i] = smoothed(before[i], pull_in_tile(before, means, i, SMOOTH_SIDE), peak);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int start = 0; start < TILE * TILE; start += items) {
        const int t = start + item, i = (t / TILE + SMOOTH_MARGIN) * SMOOTH_SIDE + t % TILE + SMOOTH_MARGIN;
        const int2 cell = corner + SMOOTH_MARGIN + (int2)(t % TILE, t / TILE);
        if (t < TILE * TILE && has_cell(size_in_cells(level), cell)) {
            smooth_vectors[cell.y * level.columns + cell.x] =
                median_in_tile(vectors[SMOOTHING_STEPS & 1], means, i, SMOOTH_SIDE);
        }
    }
}
