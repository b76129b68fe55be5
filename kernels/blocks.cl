// From the vectors of cells to the records of blocks: the last passes of the definition of hierarchical search in
// the oracle hierarchical/mod.rs, 13 to 15.
//
//   choose_small_cells  of each cell of 4 x 4 samples the best of the vectors of the four nearest cells
//   smooth_small_cells  one step of smoothing, and the vector median
//   records             the vectors and the costs of blocks
//
// levels.cl has the layout of levels; vectors are int2 in 64ths of a sample.

#include "common.cl"
#include "levels.cl"
#include "fields.cl"

// Samples on a side of a small cell.
#define SMALL (CELL / 2)

// `value` / 2^bits, rounded half away from zero.
static inline int2 round_shift(int2 value, int bits)
{
    const int2 size = (convert_int2(abs(value)) + (1 << (bits - 1))) >> bits;
    return select(size, -size, value < 0);
}

static inline uint word_at(__global const uchar *slot, Level level, int2 at)
{
    return *(__global const uint *)(slot + (size_t)level.origin * UNIT + (at.y * level.pitch + at.x));
}

// The mean of a small cell.
static inline int mean_of_small_cell(__global const uchar *slot, Level level, int2 small)
{
    uint sum = 8;
    for (int row = 0; row < SMALL; ++row)
        sum = add_four(word_at(slot, level, SMALL * small + (int2)(0, row)), sum);
    return (int)(sum >> 4);
}

// What one unit of a cost weighs against one of distance, and a small cell's own vector against its neighbours'.
#define DATA_WEIGHT 512
#define OWN_WEIGHT 16

// Pass 13, an item a small cell. `size`: their grid. The offsets of the cells are those of the field from
// cell `from` on.
__kernel FIXED_GROUP void choose_small_cells(__global const uchar *current, __global const uchar *reference,
                                             __global const CellMotion *fields,
                                             __global const int2 *cell_vectors, __global int2 *chosen,
                                             Level level, int from, int2 size)
{
    const int index = (int)get_global_id(0);
    if (index >= size.x * size.y)
        return;
    const int2 small = (int2)(index % size.x, index / size.x), cell = small >> 1;
    const int2 side = 2 * (small & 1) - 1, last = size_in_cells(level) - 1;
    const int mean = mean_of_small_cell(current, level, small);
    const int offset = BRIGHTNESS ? 0 : fields[from + cell.y * level.columns + cell.x].w;
    int2 vectors[4];
    int weights[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        // Those of bilinear interpolation.
        const int nearness = k == 0 ? 9 : k == 3 ? 1 : 3;
        const int2 near = clamp(cell + (int2)(k & 1, k >> 1) * side, (int2)(0), last);
        const int there = near.y * level.columns + near.x;
        vectors[k] = cell_vectors[there];
        weights[k] = nearness * likeness(CELL_MEAN(cell_words(current, level)[there]), mean);
    }
    int least = INT_MAX;
    int2 best = 0;
    for (int k = 0; k < 4; ++k) {
        uint samples[CELL_WORDS], cost = 0;
        read_cell(reference, level, 4 * SMALL * small + round_shift(vectors[k], 4), samples);
        for (int row = 0; row < SMALL; ++row) {
            const uint word = word_at(current, level, SMALL * small + (int2)(0, row));
            cost = compare_four_cut(offset_four(word, offset), samples[2 * row], cost);
        }
        int energy = DATA_WEIGHT * (int)cost;
        for (int other = 0; other < 4; ++other)
            energy += weights[other] * length_of(vectors[k] - vectors[other]);
        if (energy < least) {
            least = energy;
            best = vectors[k];
        }
    }
    chosen[index] = best;
}

// Small cells around a tile: one for the smoothing, one for the median.
#define AROUND 2
#define TILE_SIDE (TILE + 2 * AROUND)
#define TILE_CELLS (TILE_SIDE * TILE_SIDE)

// The rest of pass 13.
__kernel FIXED_GROUP void smooth_small_cells(__global const uchar *current,
                                             __global const int2 *chosen, __global int2 *small_vectors,
                                             Level level, int2 size)
{
    __local int2 vectors[TILE_CELLS], drawn[TILE_CELLS];
    __local short means[TILE_CELLS];
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int2 corner = tile_corner(size.x, AROUND);
    for (int start = 0; start < TILE_CELLS; start += items) {
        const int i = start + item;
        const int2 small = corner + (int2)(i % TILE_SIDE, i / TILE_SIDE);
        if (i < TILE_CELLS) {
            const bool exists = has_cell(size, small);
            vectors[i] = exists ? chosen[small.y * size.x + small.x] : (int2)(0);
            means[i] = exists ? (short)mean_of_small_cell(current, level, small) : (short)NO_CELL;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < TILE_CELLS; start += items) {
        const int i = start + item, x = i % TILE_SIDE, y = i / TILE_SIDE;
        const bool is_known = min(x, y) >= 1 && max(x, y) < TILE_SIDE - 1;
        if (is_known && means[i] != NO_CELL) {
            const Pull pull = pull_in_tile(vectors, means, i, TILE_SIDE);
            drawn[i] = vectors[i] + pull.sum / (OWN_WEIGHT + pull.weights);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < TILE * TILE; start += items) {
        const int t = start + item, i = (t / TILE + AROUND) * TILE_SIDE + t % TILE + AROUND;
        const int2 small = corner + AROUND + (int2)(t % TILE, t / TILE);
        if (t < TILE * TILE && has_cell(size, small))
            small_vectors[small.y * size.x + small.x] = median_in_tile(drawn, means, i, TILE_SIDE);
    }
}

// Samples that a vector belongs to, on a side.
#define VECTOR_SIDE (BLOCK < CELL ? SMALL : CELL)

// A block has SIDE x SIDE vectors. It is compared in as many parts of 8 x 8 samples; a block of 4 in one smaller part.
#define SIDE ((BLOCK + CELL - 1) / CELL)
#define PARTS (SIDE * SIDE)
#define LAST_SAMPLES (BLOCK - (SIDE - 1) * CELL)

// Blocks of a group, so that it has about 128 parts.
#define GROUP_BLOCKS (128 / PARTS)
#define GROUP_PARTS (GROUP_BLOCKS * PARTS)

// The cost of a part for a vector in quarter samples.
static inline uint cost_of_part(__global const uchar *current, __global const uchar *reference, Level frame,
                                int2 block, int2 part, int2 vector)
{
    const int2 place = BLOCK * block + CELL * part;
    const int words = part.x == SIDE - 1 ? LAST_SAMPLES / 4 : 2, rows = part.y == SIDE - 1 ? LAST_SAMPLES : CELL;
    uint samples[CELL_WORDS], cost = 0;
    read_cell(reference, frame, 4 * place + vector, samples);
#pragma unroll
    for (int i = 0; i < CELL_WORDS; ++i)
        if (i / 2 < rows && i % 2 < words)
            cost = compare_four(word_at(current, frame, place + (int2)(i % 2 * 4, i / 2)), samples[i], cost);
    return cost;
}

// The vector of a block in 32nds of a sample, from those of its cells in 64ths: the nearest to the others.
static inline int2 vector_of_block(__local const int2 *candidates, __local const uint *distances)
{
    uint least = UINT_MAX;
    int2 vector = 0;
    for (int k = 0; k < PARTS; ++k) {
        vector = distances[k] < least ? candidates[k] : vector;
        least = min(least, distances[k]);
    }
    return clamp(round_shift(vector, 1), (int2)(-32767), (int2)(32767));
}

// Passes 14 and 15, the record of each block: a vector of its cells, and its cost. `frame`: the level that is the
// frame as it was loaded; `size`: of the field of vectors; `grid`: of blocks.
//
//   candidates  the vector of cell k of the group's block b at b * PARTS + k
//   distances   from it to those of the block's other cells; UINT_MAX if the frame ends before the cell
//   costs       first 1 for each cell that exists, then the cost of part k at b * PARTS + k
__kernel FIXED_GROUP void records(__global const uchar *current, __global const uchar *reference,
                                  __global const int2 *cell_vectors,
                                  __global MotionVector *vectors, Level frame, int2 size, int2 grid)
{
    __local int2 candidates[GROUP_PARTS];
    __local uint distances[GROUP_PARTS], costs[GROUP_PARTS];
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int first_block = (int)get_group_id(0) * GROUP_BLOCKS;
    const int parts = min(GROUP_BLOCKS, grid.x * grid.y - first_block) * PARTS;
    for (int start = 0; start < parts; start += items) {
        const int i = start + item, index = first_block + i / PARTS, k = i % PARTS;
        const int2 block = (int2)(index % grid.x, index / grid.x);
        const int2 cell = BLOCK * block / VECTOR_SIDE + (int2)(k % SIDE, k / SIDE);
        if (i < parts) {
            const bool exists = has_cell(size, cell);
            candidates[i] = exists ? cell_vectors[cell.y * size.x + cell.x] : (int2)(0);
            costs[i] = exists;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < parts; start += items) {
        const int i = start + item, first = i / PARTS * PARTS;
        if (i < parts) {
            uint distance = 0;
            for (int k = first; k < first + PARTS; ++k)
                distance += costs[k] ? (uint)length_of(candidates[i] - candidates[k]) : 0;
            distances[i] = costs[i] ? distance : UINT_MAX;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < parts; start += items) {
        const int i = start + item, index = first_block + i / PARTS, first = i / PARTS * PARTS, k = i % PARTS;
        if (i < parts) {
            const int2 block = (int2)(index % grid.x, index / grid.x), part = (int2)(k % SIDE, k / SIDE);
            const int2 vector = vector_of_block(candidates + first, distances + first);
            costs[i] = cost_of_part(current, reference, frame, block, part, round_shift(vector, 3));
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < parts; start += PARTS * items) {
        const int first = start + PARTS * item;
        if (first < parts) {
            const int2 vector = vector_of_block(candidates + first, distances + first);
            MotionVector record = {(short)vector.x, (short)vector.y, 0};
            for (int k = first; k < first + PARTS; ++k)
                record.cost += costs[k];
            vectors[first_block + first / PARTS] = record;
        }
    }
}
