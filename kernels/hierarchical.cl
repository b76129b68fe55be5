// Hierarchical search on one level: passes 5 to 7 of its definition in docs/algorithms.md.
//
// A *field* has the motion of each cell of a level. Direction 0 is the field of the current frame, direction 1
// that of the reference frame; on levels where the two check each other, groups of the second dimension take
// the direction of their index.
//
//   fields   CellMotion of cell i of a field at its first index + i; the fields of direction 1 lie `opposite`
//            cells further on, those of the launch's next search as many cells behind these
//   tasks    the candidates to compare: smoothness cost * 65536 + cell of the group * 512 + rank
//   vectors  their vectors, two components of 16 bits
//   results  their costs, and in the upper half their offsets
//   best     of each cell of the group the smallest energy * 512 + rank so far: of equal energies the candidate
//            that the definition tries first
//
// A group takes GROUP_CELLS cells. First, LANES items of a cell gather the candidates that can still win; then
// every item compares whatever candidate is next, because cells differ in how many they have. The order in which
// that happens changes no result: the smallest key wins.
//
//   start_level     the first field of a level: the coarsest level tries all near vectors, a finer one the
//                   parents' vectors
//   improve_level   one iteration
//   search_level    both in one launch for a level so small that one group suffices; on the coarsest level all
//                   iterations

#include "common.cl"
#include "levels.cl"

// 1: cells two away are candidates.
#ifndef JUMPS
#define JUMPS 1
#endif

// The largest difference between two neighbours' vectors that counts, in quarter samples.
#ifndef MOST_DIFFERENCE
#define MOST_DIFFERENCE 48
#endif

// Cells of a group.
#ifndef GROUP_CELLS
#define GROUP_CELLS 64
#endif

// Items that share a cell, a divisor of CELL: more for small levels, so that a group has enough of them.
#ifndef LANES
#define LANES 1
#endif

// Candidates of an iteration: jumps, four neighbours, parent, mean, four steps.
#define FIRST_NEIGHBOUR (JUMPS ? 8 : 0)
#define PARENT (FIRST_NEIGHBOUR + 4)
#define MEAN (PARENT + 1)
#define FIRST_STEP (MEAN + 1)
#define CANDIDATES (FIRST_STEP + 4)

// The coarsest level tries all vectors of whole samples up to TOP_RANGE.
#define TOP_RANGE 8
#define TOP_SIDE (2 * TOP_RANGE + 1)
#define TOP_CANDIDATES (TOP_SIDE * TOP_SIDE)

// The most candidates of a group. A group that tries those of the coarsest level has one cell.
#define MOST_TASKS (GROUP_CELLS == 1 ? TOP_CANDIDATES : GROUP_CELLS * CANDIDATES)

// Numbers of a task's word: ranks of candidates, and cells of a group, at most.
#define RANKS 512
#define TASK_CELLS 128

// Words of a cell in local memory: one more than it has, so that adjacent cells begin in other banks.
#define STAGED_WORDS (CELL_WORDS + 1)

// The same fields as the host's `FieldsArg`.
typedef struct {
    int from, to;                       // the field that is read, and the one that is written
    int parents;                        // the final field of the next coarser level
    int parent_columns, parent_rows;    // 0 on the coarsest level
    int opposite;
} Fields;

// What a group has in local memory.
typedef struct {
    uint samples[GROUP_CELLS * STAGED_WORDS];
    uint tasks[MOST_TASKS];
    int vectors[MOST_TASKS];
    uint results[MOST_TASKS];
    uint best[GROUP_CELLS];
    int positions[GROUP_CELLS];  // column and row
    int sums[GROUP_CELLS];
    int offsets[GROUP_CELLS];    // those of pass 8
    uint count;                  // of tasks
} Group;

// The frame that a field belongs to, the reference frame, and the fields of this direction.
typedef struct {
    __global const uchar *own, *other;
    __global CellMotion *fields;
} Search;

static inline Search search_of(__global const uchar *current, __global const uchar *reference,
                               __global CellMotion *fields, Fields f)
{
    const int direction = (int)get_group_id(1), number = (int)get_group_id(2);
    Search search;
    search.own = direction ? reference : current;
    search.other = direction ? current : reference;
    search.fields = fields + (2 * number + direction) * f.opposite;
    return search;
}

static inline int pack_vector(int2 vector)
{
    return as_int(convert_short2(vector));
}

static inline int2 unpack_vector(int packed)
{
    return convert_int2(as_short2(packed));
}

static inline int2 cell_number(Level level, int index)
{
    return (int2)(index % level.columns, index / level.columns);
}

// The motion at `cell`, or at the nearest cell of the level.
static inline CellMotion motion_near(__global const CellMotion *field, int columns, int rows, int2 cell)
{
    return field[clamp(cell.y, 0, rows - 1) * columns + clamp(cell.x, 0, columns - 1)];
}

static inline int vector_near(__global const CellMotion *field, Level level, int2 cell)
{
    return as_int(motion_near(field, level.columns, level.rows, cell).xy);
}

// The cell of the next coarser level that contains `cell`.
static inline int2 parent_of(Fields f, int2 cell)
{
    return min(cell >> 1, (int2)(f.parent_columns, f.parent_rows) - 1);
}

static inline uint task_word(int smoothness_cost, int member, int rank)
{
    return ((uint)smoothness_cost * TASK_CELLS + (uint)member) * RANKS + (uint)rank;
}

// Puts a cell into local memory: each of LANES items takes a share of its rows, less the offset of pass 8 if it has
// one.
static inline void stage_cell(__local Group *group, Search s, Level level, int member, int lane, int2 cell,
                              int sum, int offset)
{
    if (lane == 0) {
        group->positions[member] = pack_vector(cell);
        group->sums[member] = sum;
        group->offsets[member] = offset;
    }
    __global const uchar *origin = s.own + (size_t)level.origin * UNIT;
#pragma unroll
    for (int i = 0; i < CELL / LANES; ++i) {
        const int row = i * LANES + lane;
        __global const uint *from =
            (__global const uint *)(origin + ((CELL * cell.y + row) * level.pitch + CELL * cell.x));
        __local uint *to = group->samples + member * STAGED_WORDS + 2 * row;
        to[0] = BRIGHTNESS ? from[0] : offset_four(from[0], offset);
        to[1] = BRIGHTNESS ? from[1] : offset_four(from[1], offset);
    }
}

// The cost of a staged cell for 64 samples of the reference, and in the upper half its offset if that is not fixed.
static inline uint compare_cell(__local const uint *staged, int sum, const uint *reference)
{
    uint cost = 0;
#if BRIGHTNESS
    const int offset = brightness_between(sum, reference);
#pragma unroll
    for (int i = 0; i < CELL_WORDS; ++i)
        cost = compare_four_cut(offset_four(staged[i], offset), reference[i], cost);
    return (cost + OFFSET_PENALTY * (uint)abs(offset)) | (uint)offset << 16;
#else
#pragma unroll
    for (int i = 0; i < CELL_WORDS; ++i)
        cost = compare_four_cut(staged[i], reference[i], cost);
    return cost;
#endif
}

// What the candidates of a cell are compared by: the smallest wins.
static inline uint energy_key(uint word, uint result)
{
    return (64 * (result & 0xffff) + word / (TASK_CELLS * RANKS)) * RANKS + word % RANKS;
}

// Compares the group's tasks, and writes the best motion of each of its cells to the field `f.to`. The group's first
// cell is `first` of the level.
static inline void compare_tasks(__local Group *group, Search s, Level level, Fields f, int first)
{
    const uint item = (uint)get_local_id(0), items = (uint)get_local_size(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint count = group->count;
    for (uint start = 0; start < count; start += items) {
        const uint task = start + item;
        if (task < count) {
            const uint word = group->tasks[task];
            const int member = (int)(word / RANKS % TASK_CELLS);
            const int2 cell = unpack_vector(group->positions[member]), vector = unpack_vector(group->vectors[task]);
            uint reference[CELL_WORDS];
            read_cell(s.other, level, 4 * CELL * cell + vector, reference);
            const uint result =
                compare_cell(group->samples + member * STAGED_WORDS, group->sums[member], reference);
            group->results[task] = result;
            atomic_min(&group->best[member], energy_key(word, result));
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint start = 0; start < count; start += items) {
        const uint task = start + item;
        if (task < count) {
            const uint word = group->tasks[task], result = group->results[task];
            const int member = (int)(word / RANKS % TASK_CELLS);
            if (energy_key(word, result) == group->best[member]) {
                CellMotion motion;
                motion.xy = as_short2(group->vectors[task]);
                motion.z = (short)(result & 0xffff);
                motion.w = BRIGHTNESS ? (short)(result >> 16) : (short)group->offsets[member];
                s.fields[f.to + first + member] = motion;
            }
        }
    }
}

#if !BRIGHTNESS
// The fixed offset of a cell: the median of the offsets around its parent.
static inline int inherited_offset(__global const CellMotion *parents, Fields f, int2 parent)
{
    int offsets[9];
    bool exist[9];
    for (int a = 0; a < 9; ++a) {
        const int2 at = parent + (int2)(a % 3 - 1, a / 3 - 1);
        exist[a] = all(at >= 0) && at.x < f.parent_columns && at.y < f.parent_rows;
        offsets[a] = motion_near(parents, f.parent_columns, f.parent_rows, at).w;
    }
    // Distances to the others, then length, then order.
    int best = INT_MAX, median = 0;
    for (int a = 0; a < 9; ++a) {
        int distance = 0;
        for (int b = 0; b < 9; ++b)
            distance += exist[b] ? (int)abs(offsets[a] - offsets[b]) : 0;
        const int key = distance * 64 + (int)abs(offsets[a]);
        if (exist[a] && key < best) {
            best = key;
            median = offsets[a];
        }
    }
    return median;
}
#endif

// Pass 5 or 6: the first field of `cells` cells from `first` on, from all near vectors or from the parents'.
static inline void start_cells(__local Group *group, Search s, Level level, Fields f, int first, int cells)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const bool is_coarsest = f.parent_columns == 0;
    __global const CellMotion *parents = s.fields + f.parents;
    // The tasks before must have been read.
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < cells * LANES; start += items) {
        const int i = start + item, member = i / LANES, lane = i % LANES;
        if (i < cells * LANES) {
            const int2 cell = cell_number(level, first + member);
            int offset = 0;
#if !BRIGHTNESS
            offset = inherited_offset(parents, f, parent_of(f, cell));
#endif
            if (lane == 0)
                group->best[member] = UINT_MAX;
            const int sum = CELL_SUM(cell_words(s.own, level)[first + member]);
            stage_cell(group, s, level, member, lane, cell, sum, offset);
        }
    }
    const int tried = is_coarsest ? TOP_CANDIDATES : 4, tasks = cells * tried;
    for (int start = 0; start < tasks; start += items) {
        const int task = start + item, member = task / tried, k = task % tried;
        if (task < tasks) {
            const int2 cell = cell_number(level, first + member);
            int2 vector;
            int smoothness_cost = 0;
            if (is_coarsest) {
                vector = 4 * ((int2)(k % TOP_SIDE, k / TOP_SIDE) - TOP_RANGE);
                vector = limit_vector(level, cell, vector);
                smoothness_cost = 2 * length_of(vector);
            } else {
                const int2 side = (int2)(k & 1, k >> 1) * (2 * (cell & 1) - 1);
                const CellMotion parent =
                    motion_near(parents, f.parent_columns, f.parent_rows, parent_of(f, cell) + side);
                vector = limit_vector(level, cell, 2 * convert_int2(parent.xy));
            }
            group->tasks[task] = task_word(smoothness_cost, member, k + 1);
            group->vectors[task] = pack_vector(vector);
        }
    }
    if (item == 0)
        group->count = (uint)tasks;
    compare_tasks(group, s, level, f, first);
}

// What is around a cell.
typedef struct {
    int vectors[8], weights[8];
    int smoothness;
} Surroundings;

// The smoothness cost of a vector.
static inline int smoothness_cost_of(const Surroundings *around, int2 vector)
{
    int sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int difference = length_of(vector - unpack_vector(around->vectors[k]));
        sum += around->weights[k] * min(difference, MOST_DIFFERENCE);
    }
    return around->smoothness * sum;
}

// The candidates of a cell with the vector `own`, in the order of the definition, and not limited yet.
static inline void list_candidates(Search s, Level level, Fields f, int2 cell, int own,
                                   const Surroundings *around, int step, int *candidates)
{
#if JUMPS
#pragma unroll
    for (int k = 0; k < 8; ++k)
        candidates[k] =
            vector_near(s.fields + f.from, level, cell + 2 * (int2)(neighbour_x(k), neighbour_y(k)));
#endif
    int2 sum = 2;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        candidates[FIRST_NEIGHBOUR + k] = around->vectors[k];
        sum += unpack_vector(around->vectors[k]);
        const int2 to_side = step * (int2)(neighbour_x(k), neighbour_y(k));
        candidates[FIRST_STEP + k] = pack_vector(unpack_vector(own) + to_side);
    }
    candidates[MEAN] = pack_vector(sum >> 2);
    candidates[PARENT] = own;
    if (f.parent_columns > 0) {
        const int2 parent = parent_of(f, cell);
        const short2 vector = s.fields[f.parents + parent.y * f.parent_columns + parent.x].xy;
        candidates[PARENT] = as_int((short2)(vector * (short2)(2)));
    }
}

// Adds the candidates of the cell `index` of the level that may be better than its vector as tasks. Each of LANES
// items takes its share.
static inline void gather_candidates(__local Group *group, Search s, Level level, Fields f, int member,
                                     int lane, int index, int step)
{
    __global const CellMotion *field = s.fields + f.from;
    __global const uint *words = cell_words(s.own, level);
    const int2 cell = cell_number(level, index), last = (int2)(level.columns, level.rows) - 1;
    const CellMotion motion = field[index];
    const uint word = words[index];
    const int own = as_int(motion.xy);
    Surroundings around;
    around.smoothness = CELL_SMOOTHNESS(word);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int2 at = cell + (int2)(neighbour_x(k), neighbour_y(k)), inside = clamp(at, (int2)(0), last);
        const int neighbour = inside.y * level.columns + inside.x;
        around.vectors[k] = as_int(field[neighbour].xy);
        around.weights[k] = all(at == inside) ? likeness(CELL_MEAN(words[neighbour]), CELL_MEAN(word)) : 0;
    }
    int candidates[CANDIDATES], costs[CANDIDATES];
    list_candidates(s, level, f, cell, own, &around, step, candidates);

    const int own_smoothness = smoothness_cost_of(&around, unpack_vector(own));
    const int own_energy = 64 * (int)(ushort)motion.z + own_smoothness;
    uint wanted = 0;
#pragma unroll
    for (int k = 0; k < CANDIDATES; ++k) {
        bool is_known = candidates[k] == own;
#pragma unroll
        for (int earlier = 0; earlier < k; ++earlier)
            is_known |= candidates[earlier] == candidates[k];
        costs[k] = 0;
        if (!is_known && k % LANES == lane) {
            costs[k] = smoothness_cost_of(&around, limit_vector(level, cell, unpack_vector(candidates[k])));
            wanted |= costs[k] < own_energy ? 1u << k : 0u;
        }
    }
    uint task = wanted ? atomic_add(&group->count, popcount(wanted)) : 0;
#pragma unroll
    for (int k = 0; k < CANDIDATES; ++k) {
        if (wanted >> k & 1) {
            group->tasks[task] = task_word(costs[k], member, k + 1);
            group->vectors[task] = pack_vector(limit_vector(level, cell, unpack_vector(candidates[k])));
            ++task;
        }
    }
    if (lane == 0)
        group->best[member] = (uint)own_energy * RANKS;
    stage_cell(group, s, level, member, lane, cell, CELL_SUM(word), motion.w);
}

// Pass 7: one iteration for `cells` cells from `first` on.
static inline void improve_cells(__local Group *group, Search s, Level level, Fields f, int first, int cells,
                                 int step)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    // The tasks before must have been read.
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        group->count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < cells * LANES; start += items) {
        const int i = start + item;
        if (i < cells * LANES)
            gather_candidates(group, s, level, f, i / LANES, i % LANES, first + i / LANES, step);
    }
    compare_tasks(group, s, level, f, first);
    // Cells for which no candidate is better keep their motion.
    for (int start = 0; start < cells; start += items) {
        const int member = start + item;
        if (member < cells && group->best[member] % RANKS == 0)
            s.fields[f.to + first + member] = s.fields[f.from + first + member];
    }
}

__kernel FIXED_GROUP void start_level(OF_EACH(__global const uchar *, current),
                                      OF_EACH(__global const uchar *, reference), __global CellMotion *fields,
                                      Level level, Fields f)
{
    __local Group group;
    const Search s = search_of(OF_SEARCH(current), OF_SEARCH(reference), fields, f);
    const int first = (int)get_group_id(0) * GROUP_CELLS;
    start_cells(&group, s, level, f, first, min(GROUP_CELLS, level.columns * level.rows - first));
}

__kernel FIXED_GROUP void improve_level(OF_EACH(__global const uchar *, current),
                                        OF_EACH(__global const uchar *, reference), __global CellMotion *fields,
                                        Level level, Fields f, int step)
{
    __local Group group;
    const Search s = search_of(OF_SEARCH(current), OF_SEARCH(reference), fields, f);
    const int first = (int)get_group_id(0) * GROUP_CELLS;
    improve_cells(&group, s, level, f, first, min(GROUP_CELLS, level.columns * level.rows - first), step);
}

// A group takes all cells of its direction: its barriers are enough between the iterations. Fields alternate, and the
// first one is `f.to`.
__kernel FIXED_GROUP void search_level(OF_EACH(__global const uchar *, current),
                                       OF_EACH(__global const uchar *, reference), __global CellMotion *fields,
                                       Level level, Fields f, int iterations)
{
    __local Group group;
    const Search s = search_of(OF_SEARCH(current), OF_SEARCH(reference), fields, f);
    const int cells = level.columns * level.rows;
    // The coarsest level has so many candidates that it has a launch for its first field.
    for (int first = 0; first < cells && f.parent_columns > 0; first += GROUP_CELLS)
        start_cells(&group, s, level, f, first, min(GROUP_CELLS, cells - first));
    for (int iteration = 0; iteration < iterations; ++iteration) {
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const int read = f.to;
        f.to = f.from;
        f.from = read;
        for (int first = 0; first < cells; first += GROUP_CELLS)
            improve_cells(&group, s, level, f, first, min(GROUP_CELLS, cells - first), iteration < 2 ? 2 : 1);
    }
}
