// The cells of a group of hierarchical search, and their candidates: included by hierarchical.cl after levels.cl.
//
// In local memory a group has of its members, and of the cells around them:
//
//   samples     the words of each member, less the offset of pass 8 if it has one
//   vectors     of a member and of each cell up to AROUND further, row by row: the nearest one's outside the level
//   means       theirs, or NO_MEAN outside the level
//   candidates  of member i the one of rank r at r * GROUP_CELLS + i, its number: ranks have the order of the definition
//   tasks       numbers of candidates to compare: of equal ones of a member, the first
//   results     their costs, and in the upper half their offsets
//   best        of each member the smallest energy * RANKS + rank so far

// 1: cells two away are candidates.
#ifndef JUMPS
#define JUMPS 1
#endif

// -D MOST_DIFFERENCE: the largest difference between two neighbours' vectors that counts, in quarter samples.

// Columns and rows of cells of a group.
#ifndef GROUP_COLUMNS
#define GROUP_COLUMNS 8
#endif
#ifndef GROUP_ROWS
#define GROUP_ROWS 8
#endif
#define GROUP_CELLS (GROUP_COLUMNS * GROUP_ROWS)

// Ranks of candidates: the cell's own vector, jumps, four neighbours, parent, mean, four steps.
#define OWN 0
#define FIRST_NEIGHBOUR (JUMPS ? 9 : 1)
#define PARENT (FIRST_NEIGHBOUR + 4)
#define MEAN (PARENT + 1)
#define FIRST_STEP (MEAN + 1)
#define CANDIDATES (FIRST_STEP + 4)

// The coarsest level tries all vectors of whole samples up to TOP_RANGE: a group has one cell there.
#define TOP_RANGE 8
#define TOP_SIDE (2 * TOP_RANGE + 1)
#define TOP_CANDIDATES (TOP_SIDE * TOP_SIDE)

// The most ranks.
#define MOST_RANKS (GROUP_CELLS == 1 ? TOP_CANDIDATES + 1 : CANDIDATES)

// More than a rank, in keys.
#define RANKS 512

// Quadruples of words of a member: one more than it has, so that adjacent members begin in other banks.
#define STAGED_QUADS (CELL_WORDS / 4 + 1)

// What a group knows around its members.
#define AROUND (JUMPS ? 2 : 1)
#define KNOWN_COLUMNS (GROUP_COLUMNS + 2 * AROUND)
#define KNOWN_CELLS (KNOWN_COLUMNS * (GROUP_ROWS + 2 * AROUND))
#define NO_MEAN (-1)

// What candidates have to pay besides their cost: nothing, for their length, or for the vectors around.
#define BY_COST 0
#define BY_LENGTH 1
#define BY_SURROUNDINGS 2

// The same fields as the host's `FieldsArg`.
typedef struct {
    int from, to;                       // the field that is read, and the one that is written
    int parents;                        // the final field of the next coarser level
    int parent_columns, parent_rows;    // 0 on the coarsest level
    int opposite;
} Fields;

// What a group has in local memory.
typedef struct {
    uint4 samples[GROUP_CELLS * STAGED_QUADS];
    int candidates[GROUP_CELLS * MOST_RANKS];  // packed
    uint results[GROUP_CELLS * MOST_RANKS];
    int2 vectors[KNOWN_CELLS];
    int means[KNOWN_CELLS];
    uint2 weights[GROUP_CELLS];  // a byte for each of the eight neighbours
    uint words[GROUP_CELLS];     // those of the level
    int offsets[GROUP_CELLS];    // those of pass 8
    int energies[GROUP_CELLS];   // of the members' own vectors
    uint best[GROUP_CELLS];
    ushort tasks[GROUP_CELLS * MOST_RANKS];
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
    const int direction = (int)get_group_id(1);
    Search search;
    search.own = direction ? reference : current;
    search.other = direction ? current : reference;
    search.fields = fields + direction * f.opposite;
    return search;
}

static inline int pack_vector(int2 vector)
{
    return (vector.x & 0xffff) | vector.y << 16;
}

static inline int2 unpack_vector(int packed)
{
    return (int2)((short)packed, packed >> 16);
}

static inline void add_task(__local Group *group, int number)
{
    group->tasks[atomic_inc(&group->count)] = (ushort)number;
}

// A member's cell: the group's first one is `corner`.
static inline int2 cell_of_member(int2 corner, int member)
{
    return corner + (int2)(member % GROUP_COLUMNS, member / GROUP_COLUMNS);
}

// Where a member is among the known cells.
static inline int known_member(int member)
{
    return (member / GROUP_COLUMNS + AROUND) * KNOWN_COLUMNS + member % GROUP_COLUMNS + AROUND;
}

// The last groups of a row or column may have fewer cells.
static inline bool exists(Level level, int2 cell)
{
    return cell.x < level.columns && cell.y < level.rows;
}

// The motion at `cell`, or at the nearest cell of the level.
static inline CellMotion motion_near(__global const CellMotion *field, int columns, int rows, int2 cell)
{
    return field[clamp(cell.y, 0, rows - 1) * columns + clamp(cell.x, 0, columns - 1)];
}

// The cell of the next coarser level that contains `cell`.
static inline int2 parent_of(Fields f, int2 cell)
{
    return min(cell >> 1, (int2)(f.parent_columns, f.parent_rows) - 1);
}

// Puts the members' samples into local memory, a row an item, less the offsets of pass 8: those in `field`, or if that
// is 0, those that the group has.
static inline void stage_samples(__local Group *group, Search s, Level level, int2 corner,
                                 __global const CellMotion *field)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    __global const uchar *origin = s.own + (size_t)level.origin * UNIT;
    for (int start = 0; start < GROUP_CELLS * CELL; start += items) {
        const int i = start + item, member = i % GROUP_CELLS, row = i / GROUP_CELLS;
        const int2 cell = cell_of_member(corner, member);
        if (i < GROUP_CELLS * CELL && exists(level, cell)) {
            const int index = cell.y * level.columns + cell.x;
            const uint word = cell_words(s.own, level)[index];
            uint2 samples =
                *(__global const uint2 *)(origin + ((CELL * cell.y + row) * level.pitch + CELL * cell.x));
#if !BRIGHTNESS
            const int offset = field ? field[index].w : group->offsets[member];
            const bool clips = CELL_REACH(word) < (int)abs(offset);
            samples = (uint2)(offset_word(samples.x, offset, clips), offset_word(samples.y, offset, clips));
            if (row == 0 && field)
                group->offsets[member] = offset;
#endif
            ((__local uint2 *)(group->samples + member * STAGED_QUADS))[row] = samples;
            if (row == 0)
                group->words[member] = word;
        }
    }
}

// Puts the vectors and means of the members and of the cells around them into local memory.
static inline void stage_surroundings(__local Group *group, Search s, Level level,
                                      __global const CellMotion *field, int2 corner)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    __global const uint *words = cell_words(s.own, level);
    for (int start = 0; start < KNOWN_CELLS; start += items) {
        const int i = start + item;
        if (i < KNOWN_CELLS) {
            const int2 cell = corner - AROUND + (int2)(i % KNOWN_COLUMNS, i / KNOWN_COLUMNS);
            const int2 inside = clamp(cell, (int2)(0), (int2)(level.columns, level.rows) - 1);
            const int index = inside.y * level.columns + inside.x;
            group->vectors[i] = convert_int2(field[index].xy);
            group->means[i] = all(cell == inside) ? CELL_MEAN(words[index]) : NO_MEAN;
        }
    }
}

// The smoothness cost of a vector of a member.
static inline int smoothness_cost_of(__local const Group *group, int member, int2 vector)
{
    __local const int2 *own = group->vectors + known_member(member);
    const uint2 weights = group->weights[member];
    int sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int difference = distance_of(vector, own[neighbour_y(k) * KNOWN_COLUMNS + neighbour_x(k)]);
        const uint weight = (k < 4 ? weights.x : weights.y) >> 8 * (k % 4) & 0xff;
        sum += (int)weight * min(difference, MOST_DIFFERENCE);
    }
    return CELL_SMOOTHNESS(group->words[member]) * sum;
}

// The candidate of a rank, not limited yet. `own`: the member's vector among those of the cells around.
static inline int2 candidate_of(__local const int2 *own, Search s, Fields f, int2 cell, int rank, int step)
{
    if (rank == MEAN)
        return (own[-KNOWN_COLUMNS] + own[KNOWN_COLUMNS] + own[-1] + own[1] + 2) >> 2;
    if (rank == PARENT) {
        const int2 parent = parent_of(f, cell);
        return f.parent_columns > 0
                   ? 2 * convert_int2(s.fields[f.parents + parent.y * f.parent_columns + parent.x].xy)
                   : own[0];
    }
    const bool is_step = rank >= FIRST_STEP;
    const int k = rank - (is_step ? FIRST_STEP : rank >= FIRST_NEIGHBOUR ? FIRST_NEIGHBOUR : 1);
    const int2 side = (int2)(neighbour_x(k), neighbour_y(k));
    const int away = is_step || rank == OWN ? 0 : rank < FIRST_NEIGHBOUR ? 2 : 1;
    return own[away * (side.y * KNOWN_COLUMNS + side.x)] + (is_step ? step : 0) * side;
}

// Lists the candidates of all members, and weighs their neighbours. Members follow each other, so that adjacent items
// do the same.
static inline void list_candidates(__local Group *group, Search s, Level level, Fields f, int2 corner, int step)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    for (int start = 0; start < GROUP_CELLS * CANDIDATES; start += items) {
        const int number = start + item, member = number % GROUP_CELLS, rank = number / GROUP_CELLS;
        const int2 cell = cell_of_member(corner, member);
        if (number < GROUP_CELLS * CANDIDATES && exists(level, cell)) {
            const int known = known_member(member);
            const int2 vector = candidate_of(group->vectors + known, s, f, cell, rank, step);
            group->candidates[number] = pack_vector(limit_vector(level, cell, vector));
            if (rank < 8) {
                __local const int *mean = group->means + known;
                const int other = mean[neighbour_y(rank) * KNOWN_COLUMNS + neighbour_x(rank)];
                ((__local uchar *)(group->weights + member))[rank] =
                    other == NO_MEAN ? 0 : (uchar)likeness(other, mean[0]);
            }
        }
    }
}

// Adds tasks for the candidates that are no others again.
static inline void add_tasks(__local Group *group, Level level, __global const CellMotion *field, int2 corner)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    for (int start = 0; start < GROUP_CELLS * CANDIDATES; start += items) {
        const int number = start + item, member = number % GROUP_CELLS, rank = number / GROUP_CELLS;
        const int2 cell = cell_of_member(corner, member);
        if (number < GROUP_CELLS * CANDIDATES && exists(level, cell)) {
            const int candidate = group->candidates[number];
            if (rank == OWN) {
                const ushort cost = (ushort)field[cell.y * level.columns + cell.x].z;
                const int energy = 64 * (int)cost + smoothness_cost_of(group, member, unpack_vector(candidate));
                group->energies[member] = energy;
                group->best[member] = (uint)energy * RANKS;
            } else {
                bool is_known = false;
                for (int other = member; other < number; other += GROUP_CELLS)
                    is_known |= group->candidates[other] == candidate;
                if (!is_known)
                    add_task(group, number);
            }
        }
    }
}
