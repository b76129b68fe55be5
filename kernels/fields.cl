// Fields of vectors: what the kernels after the search share. Included after levels.cl.
//
// Such a kernel has a tile of the field in local memory, and around it as many cells as it needs: of a group of
// TILE x TILE cells the first has the number of the group, counted row by row.

// Cells on a side of a tile.
#define TILE 16

// The mean where there is no cell.
#define NO_CELL (-1)

// Neighbours whose vectors are so far apart, in 64ths of a sample, do not draw each other.
#define DRAW_RANGE 128

// The first cell of the group's tile of a field of so many columns, less `around` cells.
static inline int2 tile_corner(int columns, int around)
{
    const int tiles_across = (columns + TILE - 1) / TILE, tile = (int)get_group_id(0);
    return (int2)(tile % tiles_across, tile / tiles_across) * TILE - around;
}

// Whether a field of `size` cells has `cell`.
static inline bool has_cell(int2 size, int2 cell)
{
    return all(cell >= 0) && all(cell < size);
}

static inline int2 size_in_cells(Level level)
{
    return (int2)(level.columns, level.rows);
}

// The vector median of those of 3 x 3 vectors whose weights are not 0: the one with the least weighted distance to all,
// of equal ones the first, or the middle one if `middle_wins`.
static inline int2 vector_median(const int2 *vectors, const int *weights, bool middle_wins)
{
    int best = INT_MAX;
    int2 median = 0;
#pragma unroll
    for (int a = 0; a < 9; ++a) {
        int sum = 0;
#pragma unroll
        for (int b = 0; b < 9; ++b)
            sum += weights[b] * length_of(vectors[a] - vectors[b]);
        if (weights[a] > 0 && (sum < best || (middle_wins && a == 4 && sum == best))) {
            best = sum;
            median = vectors[a];
        }
    }
    return median;
}

// The vector median at cell i of a tile whose rows are `side` cells apart. Its own vector wins among equal ones.
static inline int2 median_in_tile(__local const int2 *vectors, __local const short *means, int i, int side)
{
    int2 around[9];
    int weights[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int j = i + (k / 3 - 1) * side + k % 3 - 1;
        const bool exists = means[j] != NO_CELL;
        around[k] = exists ? vectors[j] : (int2)(0);
        weights[k] = exists ? likeness(means[j], means[i]) : 0;
    }
    return vector_median(around, weights, true);
}

// How the neighbours of a cell draw its vector.
typedef struct {
    int weights;  // the sum of theirs
    int2 sum;     // of their differences from it, weighted
} Pull;

// The pull on cell i of a tile whose rows are `side` cells apart.
static inline Pull pull_in_tile(__local const int2 *vectors, __local const short *means, int i, int side)
{
    Pull pull = {0, 0};
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int j = i + neighbour_y(k) * side + neighbour_x(k);
        const int2 difference = vectors[j] - vectors[i];
        const int near = DRAW_RANGE - length_of(difference);
        if (means[j] != NO_CELL && near > 0) {
            const int weight = likeness(means[j], means[i]) * near >> 7;
            pull.weights += weight;
            pull.sum += weight * difference;
        }
    }
    return pull;
}
