// Made frames: the points of a frame, and the vectors of the blocks at a phase. compensation.cl makes the planes.
//
// The oracle, interpolation/oracle.rs, defines them. In the order in which the host launches these kernels:
//
//   make_points        for each frame that is loaded, as
//   make_chroma        if there is chroma that is compared
//   clear_projection   the following for each frame that is made; the projections for each field
//   project_costs      the least cost of the vectors that go through a block
//   project_firsts     the first vector with this cost
//   choose_vectors     among those around a block, by the samples at both ends
//
//   found       the field of the search, of the previous frame in the next one; with -D HIGH=1 also those of the pairs of frames
//               before and after
//   projection  2 x columns x rows numbers: the least cost of the vectors that go through each block, then the number of
//               the first block with this cost; ~0 where no vector goes through a block
//   chroma      with -D COMPONENTS: both components of a pixel at half of luma's size, eight bits, row by row without a margin
//   chosen      a PhaseVector of block (column, row) at row * columns + column

// Names in capitals that no kernel file defines are constants of motion-frames' `interpolation/rules.rs`, which says what they are.

#include "common.cl"
#include "points.cl"
#include "made_points.cl"

// Items that share a block, 1 to 8.
#ifndef ITEMS
#define ITEMS 8
#endif

// Blocks of a group.
#ifndef LANES
#define LANES 8
#endif

// The components of chroma that are compared, 0 to 2. HALVED_X, HALVED_Y and PIXEL are those of compensation.cl.
#ifndef COMPONENTS
#define COMPONENTS 0
#endif

// Whether the pairs of frames before and after may have candidates.
#ifndef HIGH
#define HIGH 0
#endif

// The vectors that a block chooses from: its own and those of eight neighbours in each field, and zero.
#define AROUND 9
#define CANDIDATES (AROUND * (HIGH ? 3 : 1) + 1)
#define CANDIDATE_BITS 5

// The same fields as the host's `PhaseArg`.
typedef struct {
    int numerator, denominator;
    int later;  // whole intervals that are added
} Phase;

#if COMPONENTS
// Pixels of chroma across and down.
static inline int2 chroma_size(FrameShape f)
{
    return ((int2)(f.width, f.height) + 1) / 2;
}

// Makes the chroma of a frame that is compared: the means of 2 x 2, 2 x 1, 1 x 2 or 1 x 1 samples. An item makes a pixel.
__kernel void make_chroma(__global const uchar *planes, __global uchar2 *chroma, FrameShape f, PlanesShape plane)
{
    const int x = (int)get_global_id(0), y = (int)get_global_id(1);
    const int across = 2 - HALVED_X, down = 2 - HALVED_Y;
    const int2 size = chroma_size(f);
    if (x >= size.x || y >= size.y)
        return;
    uint made[2] = {0, 0};
    for (int component = 0; component < COMPONENTS; ++component) {
        const int of_pixel = PIXEL == 2 ? component : 0;
        __global const uchar *from = planes + plane.first + (ulong)(component - of_pixel) * plane.bytes;
        uint sum = (uint)(across * down / 2);
        for (int i = 0; i < across * down; ++i) {
            const int column = min(across * x + i % across, plane.columns - 1);
            const int row = min(down * y + i / across, plane.rows - 1);
            __global const raw_t *samples = (__global const raw_t *)(from + (size_t)row * (size_t)plane.pitch);
            sum += (uint)sample_of(samples[column * PIXEL + of_pixel]);
        }
        made[component] = sum / (uint)(across * down) >> (DEPTH - 8);
    }
    chroma[(size_t)y * (size_t)size.x + (size_t)x] = (uchar2)((uchar)made[0], (uchar)made[1]);
}

// Reads four pixels of chroma from `position` on, in eighths of a pixel.
static inline void chroma_row(__global const uchar2 *chroma, FrameShape f, int2 position, uint2 *pixels)
{
    const int2 whole = position >> 3, size = chroma_size(f);
    const uint right = (uint)position.x & 7, down = (uint)position.y & 7;
    __global const uchar2 *upper = chroma + (size_t)clamp(whole.y, 0, size.y - 1) * (size_t)size.x;
    __global const uchar2 *lower = chroma + (size_t)clamp(whole.y + 1, 0, size.y - 1) * (size_t)size.x;
    uint2 sums[SIDE / 2 + 1];
#pragma unroll
    for (int i = 0; i <= SIDE / 2; ++i) {
        const int at = clamp(whole.x + i, 0, size.x - 1);
        sums[i] = (8 - down) * convert_uint2(upper[at]) + down * convert_uint2(lower[at]);
    }
#pragma unroll
    for (int i = 0; i < SIDE / 2; ++i)
        pixels[i] = ((8 - right) * sums[i] + right * sums[i + 1] + 32) >> 6;
}

// The sum of absolute differences of four pixels of chroma at both ends of a vector.
static inline uint chroma_difference(__global const uchar2 *previous, __global const uchar2 *next, FrameShape f, int2 start,
                                     int2 way)
{
    uint2 a[SIDE / 2], b[SIDE / 2], sum = 0;
    chroma_row(previous, f, start, a);
    chroma_row(next, f, start + way, b);
#pragma unroll
    for (int i = 0; i < SIDE / 2; ++i)
        sum += abs_diff(a[i], b[i]);
    return sum.x + sum.y;
}
#endif

// Where a vector of `length` half samples starts, in quarter samples.
static inline int start_of(int length, Phase phase)
{
    // Rounded down. No vector is longer than LONGEST and the phase is below 1, so that what is divided is not negative.
    const int divisor = 2 * phase.denominator;
    const int scaled = 4 * length * phase.numerator + phase.denominator + 2 * LONGEST * divisor;
    return 2 * LONGEST - (int)((uint)scaled / (uint)divisor) - 2 * length * phase.later;
}

// The vector of block `block`, in half samples from the previous to the next frame, and its cost.
static inline int2 vector_of(__global const MotionVector *found, FrameShape f, int block, uint *cost)
{
    const int column = block % f.columns >> f.halvings, row = block / f.columns >> f.halvings;
    const MotionVector vector = found[row * f.found_columns + column];
    *cost = vector.cost;
    const int2 half_samples = ((int2)(vector.x, vector.y) * (1 << f.halvings) + 8) >> 4;
    return clamp(half_samples, (int2)(-LONGEST), (int2)(LONGEST));
}

// Clears the projection. An item clears one number.
__kernel void clear_projection(__global uint *projection, FrameShape f)
{
    const int item = (int)get_global_id(0);
    if (item < 2 * f.columns * f.rows && get_global_id(1) == 0)
        projection[item] = ~0u;
}

// Where block `block` of the previous frame is at the phase, in whole samples.
static inline int2 place_of(FrameShape f, Phase phase, int block, int2 vector)
{
    const int2 way = (int2)(start_of(vector.x, phase), start_of(vector.y, phase));
    return SIDE * (int2)(block % f.columns, block / f.columns) + (-way >> 2);
}

// Finds, for each block that the block of an item covers at the phase, the least cost of those that cover it, or the first of
// those with the least cost. They are in two columns and two rows at most.
static inline void project(__global const MotionVector *found, __global uint *projection, FrameShape f, Phase phase,
                           bool finds_firsts)
{
    const int block = (int)get_global_id(0), blocks = f.columns * f.rows;
    if (block >= blocks || get_global_id(1) > 0)
        return;
    uint cost;
    const int2 vector = vector_of(found, f, block, &cost);
    const int2 place = place_of(f, phase, block, vector);
    __global uint *costs = projection, *firsts = projection + blocks;
    for (int n = 0; n < 4; ++n) {
        const int2 other = (place >> 3) + (int2)(n & 1, n >> 1);
        const int2 shared = SIDE - convert_int2(abs(SIDE * other - place));
        const bool is_inside = all(other >= 0) && other.x < f.columns && other.y < f.rows;
        if (!is_inside || shared.x * shared.y < LEAST_OVERLAP)
            continue;
        const int to = other.y * f.columns + other.x;
        if (!finds_firsts)
            atomic_min(costs + to, cost);
        else if (costs[to] == cost)
            atomic_min(firsts + to, (uint)block);
    }
}

__kernel void project_costs(__global const MotionVector *found, __global uint *projection, FrameShape f, Phase phase)
{
    project(found, projection, f, phase, false);
}

// After project_costs.
__kernel void project_firsts(__global const MotionVector *found, __global uint *projection, FrameShape f, Phase phase)
{
    project(found, projection, f, phase, true);
}

// The vector that goes through a block; its own where none does.
static inline int2 projected(__global const MotionVector *found, __global const uint *projection, FrameShape f, int block)
{
    const uint first = projection[f.columns * f.rows + block];
    uint cost;
    return vector_of(found, f, first == ~0u ? block : (int)first, &cost);
}

// Vector `number` of those around a block in a projected field, in the order of the definition.
static inline int2 vector_around(__global const MotionVector *found, __global const uint *projection, FrameShape f, int2 block,
                                 int number)
{
    // The neighbours are numbered row by row without the block itself, which comes first.
    const int around = number == 0 ? 4 : number <= 4 ? number - 1 : number;
    const int2 at = clamp(block + (int2)(around % 3 - 1, around / 3 - 1), (int2)(0, 0), (int2)(f.columns, f.rows) - 1);
    return projected(found, projection, f, at.y * f.columns + at.x);
}

// The samples of still detail in the row of a block that begins at `position`, in quarter samples.
static inline uint still_samples(__global const uchar *previous, __global const uchar *next, FrameShape f, int2 position)
{
    uchar8 own = 0, change = 0, detail = 0;
#pragma unroll
    for (int n = 0; n < 3; ++n) {
        const int2 at = position + 4 * (int2)(n & 1, n >> 1);
        const uchar8 a = as_uchar8(eight_samples(previous, f, at)), b = as_uchar8(eight_samples(next, f, at));
        change = max(change, abs_diff(a, b));
        if (n == 0)
            own = a;
        else
            detail = max(detail, abs_diff(own, a));
    }
    // All bits of a byte where both hold.
    const char8 still = (change <= (uchar8)STILL_DIFFERENCE) & (detail >= (uchar8)STILL_DETAIL);
    const uint2 bits = popcount(as_uint2(still));
    return (bits.x + bits.y) / 8;
}

// The key of a block that stands still: less than that of any candidate.
#define STILL_KEY ((1u << CANDIDATE_BITS) - 1)

// The key of a vector that an earlier candidate has too.
#define REPEATED_KEY ~0u

// What the items of a block share.
typedef struct {
    PhaseVector vectors[CANDIDATES];
    // Candidate c, item i: at c * ITEMS + i. That of the first one has the samples of still detail in its upper 16 bits.
    uint costs[CANDIDATES * ITEMS];
    uint keys[CANDIDATES];
} BlockChoice;

// Chooses the vector of each block among `candidates` ones, CANDIDATES or those of the first field. Items ITEMS * l to
// ITEMS * (l + 1) - 1 of a group share its block l.
__kernel __attribute__((reqd_work_group_size(ITEMS * LANES, 1, 1)))
void choose_vectors(__global const uchar *previous, __global const uchar *next, __global const MotionVector *found,
                    __global const uint *projection, __global PhaseVector *chosen, FrameShape f, Phase phase, int candidates
#if HIGH
                    , __global const MotionVector *found_before, __global const uint *projection_before,
                    __global const MotionVector *found_after, __global const uint *projection_after
#endif
#if COMPONENTS
                    , __global const uchar2 *previous_chroma, __global const uchar2 *next_chroma
#endif
)
{
    __local BlockChoice lanes[LANES];
    const int item = (int)get_local_id(0) % ITEMS, lane = (int)get_local_id(0) / ITEMS;
    const int number = (int)get_group_id(0) * LANES + lane;
    // Without a block, items do the last one again and write nothing.
    const int index = min(number, f.columns * f.rows - 1);
    const int2 block = (int2)(index % f.columns, index / f.columns);
    __local BlockChoice *shared = lanes + lane;
    for (int c = item; c < candidates; c += ITEMS) {
        // The last one is zero.
        int2 vector = 0;
        if (c < AROUND)
            vector = vector_around(found, projection, f, block, c);
#if HIGH
        else if (c < 2 * AROUND && c < candidates - 1)
            vector = vector_around(found_before, projection_before, f, block, c - AROUND);
        else if (c < candidates - 1)
            vector = vector_around(found_after, projection_after, f, block, c - 2 * AROUND);
#endif
        const int2 start = (int2)(start_of(vector.x, phase), start_of(vector.y, phase));
        shared->vectors[c] = convert_short4((int4)(start, 2 * vector));
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // Equal vectors start at the same place, so that what is left of them tells them apart.
    for (int c = item; c < candidates; c += ITEMS) {
        bool is_known = false;
        for (int earlier = 0; earlier < c; ++earlier)
            is_known |= as_uint(shared->vectors[earlier].zw) == as_uint(shared->vectors[c].zw);
        shared->keys[c] = is_known ? REPEATED_KEY : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int c = 0; c < candidates; ++c) {
        if (shared->keys[c] == REPEATED_KEY)
            continue;
        const int4 vector = convert_int4(shared->vectors[c]);
        uint cost = 0;
        for (int row = item; row < SIDE; row += ITEMS) {
            const int2 start = 4 * (SIDE * block + (int2)(0, row)) + vector.xy;
            const uint2 a = eight_samples(previous, f, start), b = eight_samples(next, f, start + vector.zw);
            cost = compare_four(a.y, b.y, compare_four(a.x, b.x, cost));
#if COMPONENTS
            // With luma below 2^16: 64 · 255 + 4 · 32 · 255.
            if (row < SIDE / 2) {
                const int2 from = 8 * (SIDE / 2 * block + (int2)(0, row)) + vector.xy;
                cost += CHROMA_COST * chroma_difference(previous_chroma, next_chroma, f, from, vector.zw);
            }
#endif
            if (c == 0)
                cost += still_samples(previous, next, f, 4 * (SIDE * block + (int2)(0, row))) << 16;
        }
        shared->costs[c * ITEMS + item] = cost;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int c = item; c < candidates; c += ITEMS) {
        uint key = shared->keys[c];
        if (key != REPEATED_KEY) {
            uint cost = 0;
            for (int i = 0; i < ITEMS; ++i)
                cost += shared->costs[c * ITEMS + i];
            const uint still = cost >> 16;
            cost = (cost & 0xffff) + (as_uint(shared->vectors[c].zw) != 0 ? MOTION_COST : 0);
            // Those around it in the first field.
            for (int n = 1; n < AROUND; ++n) {
                const int2 apart = convert_int2(abs(convert_int2(shared->vectors[c].zw) - convert_int2(shared->vectors[n].zw)));
                // Of half samples.
                cost += SMOOTHNESS * (uint)min((apart.x + apart.y) / 2, MOST_DIFFERENCE);
            }
            key = still >= STILL_SAMPLES ? STILL_KEY : (cost + 1) << CANDIDATE_BITS | (uint)c;
        }
        shared->keys[c] = key;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (item == 0 && number < f.columns * f.rows) {
        uint best = shared->keys[0];
        for (int c = 1; c < candidates; ++c)
            best = min(best, shared->keys[c]);
        chosen[number] = best == STILL_KEY ? (PhaseVector)(0) : shared->vectors[best & STILL_KEY];
    }
}

// Where a patch is copied to: the same fields as the host's `PatchShape`. All but the mask is of whole luma samples or of pixels.
typedef struct {
    int first_x, first_y;   // the first sample of the mask, in search frames
    int columns, rows;      // of the mask
    int to_x, to_y;         // from the mask's place to that in the made frame, in luma samples
    int away_x, away_y;     // from there to that in the frame that is copied, in pixels
    int start_x, start_y;   // the pixels of the plane that it may cover
    int end_x, end_y;
    int halved_x, halved_y; // whether pixels have two luma samples on an axis
    int halvings;           // how often frames were halved to be searched
    int mask;               // the number of its first sample
    int pixel;              // bytes
    int padding;
} PatchShape;

// Whether the mask has the luma sample at (x, y).
static inline bool covers(__global const uchar *masks, PatchShape patch, int x, int y)
{
    const int column = ((x - patch.to_x) >> patch.halvings) - patch.first_x;
    const int row = ((y - patch.to_y) >> patch.halvings) - patch.first_y;
    if (column < 0 || row < 0 || column >= patch.columns || row >= patch.rows)
        return false;
    return masks[patch.mask + row * patch.columns + column] != 0;
}

// Draws a patch over a plane or, of several planes of the same shape, plane number get_global_id(2): copies its pixels from the
// frame that `from` has. A pixel is copied if the mask has one of its luma samples.
__kernel void draw_patch(__global const uchar *from, __global const uchar *masks, __global uchar *made, PlanesShape plane,
                         PatchShape patch)
{
    const int x = patch.start_x + (int)get_global_id(0), y = patch.start_y + (int)get_global_id(1);
    if (x >= patch.end_x || y >= patch.end_y)
        return;
    bool is_covered = false;
    for (int down = 0; down <= patch.halved_y; ++down) {
        for (int right = 0; right <= patch.halved_x; ++right)
            is_covered |= covers(masks, patch, (x << patch.halved_x) + right, (y << patch.halved_y) + down);
    }
    if (!is_covered)
        return;
    const size_t first = plane.first + (size_t)get_global_id(2) * plane.bytes;
    const int column = clamp(x + patch.away_x, 0, plane.columns - 1), row = clamp(y + patch.away_y, 0, plane.rows - 1);
    __global const uchar *source = from + first + (size_t)row * (size_t)plane.pitch + column * patch.pixel;
    __global uchar *target = made + first + (size_t)y * (size_t)plane.pitch + x * patch.pixel;
    for (int byte = 0; byte < patch.pixel; ++byte)
        target[byte] = source[byte];
}
