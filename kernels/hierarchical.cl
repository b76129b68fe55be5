// Hierarchical search on one level: passes 5 to 7 of its definition, the oracle hierarchical/mod.rs.
//
// A *field* has the motion of each cell of a level. Direction 0 is the field of the current frame, direction 1
// that of the reference frame; on levels where the two check each other, groups of the second dimension take
// the direction of their index.
//
//   fields   CellMotion of cell i of a field at its first index + i; the fields of direction 1 lie `opposite`
//            cells further on
//
// A group takes GROUP_COLUMNS x GROUP_ROWS cells, its members. Its items first list the candidates of all members,
// then compare whatever candidate is next, because members differ in how many different ones they have. The order in
// which that happens changes no result: the smallest key wins, and keys of equal energies have the order of the
// definition.
//
//   start_level     the first field of a level: the coarsest level tries all near vectors, a finer one the
//                   parents' vectors
//   improve_level   one iteration
//   search_level    both in one launch for a level so small that one group suffices; on the coarsest level all
//                   iterations

#include "common.cl"
#include "levels.cl"
#include "candidates.cl"

// The cost of a member for 64 samples of the reference, and in the upper half its offset if that is not fixed.
static inline uint compare_cell(__local const uint4 *staged, uint word, const uint *reference)
{
    uint cost = 0;
#if BRIGHTNESS
    const int offset = brightness_between(CELL_SUM(word), reference);
    const bool clips = CELL_REACH(word) < (int)abs(offset);
#pragma unroll
    for (int i = 0; i < CELL_WORDS / 4; ++i) {
        const uint4 samples = staged[i];
        cost = compare_four_cut(offset_word(samples.x, offset, clips), reference[4 * i], cost);
        cost = compare_four_cut(offset_word(samples.y, offset, clips), reference[4 * i + 1], cost);
        cost = compare_four_cut(offset_word(samples.z, offset, clips), reference[4 * i + 2], cost);
        cost = compare_four_cut(offset_word(samples.w, offset, clips), reference[4 * i + 3], cost);
    }
    return (cost + OFFSET_PENALTY * (uint)abs(offset)) | (uint)offset << 16;
#else
#pragma unroll
    for (int i = 0; i < CELL_WORDS / 4; ++i) {
        const uint4 samples = staged[i];
        cost = compare_four_cut(samples.x, reference[4 * i], cost);
        cost = compare_four_cut(samples.y, reference[4 * i + 1], cost);
        cost = compare_four_cut(samples.z, reference[4 * i + 2], cost);
        cost = compare_four_cut(samples.w, reference[4 * i + 3], cost);
    }
    return cost;
#endif
}

// Compares the group's tasks, and writes the best motion of each member to the field `f.to`.
static inline void compare_tasks(__local Group *group, Search s, Level level, Fields f, int2 corner, int rule)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int count = (int)group->count;
    for (int start = 0; start < count; start += items) {
        const int task = start + item;
        if (task < count) {
            const int number = group->tasks[task], member = number % GROUP_CELLS, rank = number / GROUP_CELLS;
            const int2 vector = unpack_vector(group->candidates[number]);
            const int smoothness = rule == BY_LENGTH         ? 2 * length_of(vector)
                                   : rule == BY_SURROUNDINGS ? smoothness_cost_of(group, member, vector)
                                                             : 0;
            if (rule != BY_SURROUNDINGS || smoothness < group->energies[member]) {
                uint reference[CELL_WORDS];
                read_cell(s.other, level, 4 * CELL * cell_of_member(corner, member) + vector, reference);
                const uint result =
                    compare_cell(group->samples + member * STAGED_QUADS, group->words[member], reference);
                group->results[number] = result;
                atomic_min(&group->best[member],
                           (uint)(64 * (int)(result & 0xffff) + smoothness) * RANKS + (uint)rank);
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < GROUP_CELLS; start += items) {
        const int member = start + item;
        const int2 cell = cell_of_member(corner, member);
        if (member < GROUP_CELLS && exists(level, cell)) {
            const int index = cell.y * level.columns + cell.x, rank = (int)(group->best[member] % RANKS);
            CellMotion motion;
            if (rank == OWN) {
                motion = s.fields[f.from + index];
            } else {
                const int number = rank * GROUP_CELLS + member;
                const uint result = group->results[number];
                motion.xy = as_short2(group->candidates[number]);
                motion.z = (short)(result & 0xffff);
                motion.w = BRIGHTNESS ? (short)(result >> 16) : (short)group->offsets[member];
            }
            s.fields[f.to + index] = motion;
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

// Pass 5 or 6: the first field of the members, from all near vectors or from the parents'.
static inline void start_cells(__local Group *group, Search s, Level level, Fields f, int2 corner)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const bool is_coarsest = f.parent_columns == 0;
    __global const CellMotion *parents = s.fields + f.parents;
    // What the group did before must have been read.
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < GROUP_CELLS; start += items) {
        const int member = start + item;
        if (member < GROUP_CELLS) {
            group->best[member] = UINT_MAX;
#if !BRIGHTNESS
            group->offsets[member] = inherited_offset(parents, f, parent_of(f, cell_of_member(corner, member)));
#endif
        }
    }
    if (item == 0)
        group->count = 0;
    // On the coarsest level a group has one member.
    const int tasks = GROUP_CELLS * (is_coarsest ? TOP_CANDIDATES : 4);
    for (int start = 0; start < tasks; start += items) {
        const int i = start + item, member = i % GROUP_CELLS, k = i / GROUP_CELLS;
        const int2 cell = cell_of_member(corner, member);
        if (i < tasks && exists(level, cell)) {
            int2 vector;
            if (is_coarsest) {
                vector = 4 * ((int2)(k % TOP_SIDE, k / TOP_SIDE) - TOP_RANGE);
            } else {
                const int2 side = (int2)(k & 1, k >> 1) * (2 * (cell & 1) - 1);
                const CellMotion parent =
                    motion_near(parents, f.parent_columns, f.parent_rows, parent_of(f, cell) + side);
                vector = 2 * convert_int2(parent.xy);
            }
            group->candidates[GROUP_CELLS + i] = pack_vector(limit_vector(level, cell, vector));
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int start = 0; start < tasks; start += items) {
        const int i = start + item, member = i % GROUP_CELLS, number = GROUP_CELLS + i;
        if (i < tasks && exists(level, cell_of_member(corner, member))) {
            bool is_known = false;
            for (int other = GROUP_CELLS + member; other < number && !is_coarsest; other += GROUP_CELLS)
                is_known |= group->candidates[other] == group->candidates[number];
            if (!is_known)
                add_task(group, number);
        }
    }
    stage_samples(group, s, level, corner, 0);
    compare_tasks(group, s, level, f, corner, is_coarsest ? BY_LENGTH : BY_COST);
}

// Pass 7: one iteration for the members.
static inline void improve_cells(__local Group *group, Search s, Level level, Fields f, int2 corner, int step)
{
    // What the group did before must have been read.
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        group->count = 0;
    stage_surroundings(group, s, level, s.fields + f.from, corner);
    stage_samples(group, s, level, corner, s.fields + f.from);
    barrier(CLK_LOCAL_MEM_FENCE);
    list_candidates(group, s, level, f, corner, step);
    barrier(CLK_LOCAL_MEM_FENCE);
    add_tasks(group, level, s.fields + f.from, corner);
    compare_tasks(group, s, level, f, corner, BY_SURROUNDINGS);
}

// Columns and rows of groups for a level.
static inline int2 groups_of(Level level)
{
    return (int2)((level.columns + GROUP_COLUMNS - 1) / GROUP_COLUMNS, (level.rows + GROUP_ROWS - 1) / GROUP_ROWS);
}

// The first cell of group `number` of a level.
static inline int2 corner_of(Level level, int number)
{
    const int across = groups_of(level).x;
    return (int2)(number % across * GROUP_COLUMNS, number / across * GROUP_ROWS);
}

__kernel FIXED_GROUP void start_level(__global const uchar *current, __global const uchar *reference,
                                      __global CellMotion *fields,
                                      Level level, Fields f)
{
    __local Group group;
    const Search s = search_of(current, reference, fields, f);
    start_cells(&group, s, level, f, corner_of(level, (int)get_group_id(0)));
}

__kernel FIXED_GROUP void improve_level(__global const uchar *current, __global const uchar *reference,
                                        __global CellMotion *fields,
                                        Level level, Fields f, int step)
{
    __local Group group;
    const Search s = search_of(current, reference, fields, f);
    improve_cells(&group, s, level, f, corner_of(level, (int)get_group_id(0)), step);
}

// A group takes all cells of its direction: its barriers are enough between the iterations. Fields alternate, and the
// first one is `f.to`.
__kernel FIXED_GROUP void search_level(__global const uchar *current, __global const uchar *reference,
                                       __global CellMotion *fields,
                                       Level level, Fields f, int iterations)
{
    __local Group group;
    const Search s = search_of(current, reference, fields, f);
    const int2 groups = groups_of(level);
    // The coarsest level has so many candidates that it has a launch for its first field.
    for (int number = 0; number < groups.x * groups.y && f.parent_columns > 0; ++number)
        start_cells(&group, s, level, f, corner_of(level, number));
    for (int iteration = 0; iteration < iterations; ++iteration) {
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const int read = f.to;
        f.to = f.from;
        f.from = read;
        for (int number = 0; number < groups.x * groups.y; ++number)
            improve_cells(&group, s, level, f, corner_of(level, number), iteration < 2 ? 2 : 1);
    }
}
