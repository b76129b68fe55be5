// Groups of adjacent blocks that go through the window in tiles: what tiled.cl and elimination.cl share.
// Included after common.cl.
//
//   group  BLOCKS_ACROSS x BLOCKS_DOWN blocks. A group that would pass the end of the grid is moved back
//          over its neighbour, and writes only the blocks that are its own.
//   tile   TILE_COLUMNS x TILE_ROWS candidates of the window
//   run    RUN candidates of a tile, one below the other. The last run of a tile is moved back over its
//          neighbour.
//   task   a block and a run. Tasks count through the columns of a tile, blocks across, runs, blocks
//          down, so that items that work at the same time read the same or adjacent words.

// Candidates in a run.
#ifndef RUN
#define RUN 4
#endif

// The same fields as the host's `GroupShapeArg`.
typedef struct {
    int tile_columns, tile_rows;     // candidates of a tile, no more than the window has
    int blocks_across, blocks_down;  // blocks of a group, no more than the grid has
    int skew;                        // x0 of the window, modulo WORD_SAMPLES
} GroupShape;

// Builds for GPUs compile the shape and some of the geometry in: their loops are short, and they divide
// slowly. Other builds take them from the arguments `shape` and `g`.
#ifdef GROUP_SIZE
#define ITEMS GROUP_SIZE
#else
#define ITEMS ((int)get_local_size(0))
#endif
#ifndef TILE_COLUMNS
#define TILE_COLUMNS shape.tile_columns
#define TILE_ROWS shape.tile_rows
#define BLOCKS_ACROSS shape.blocks_across
#define BLOCKS_DOWN shape.blocks_down
#endif
#ifndef WINDOW_COLUMNS
#define WINDOW_COLUMNS g.window_columns
#define SKEW ((uint)shape.skew)
#define INSIDE_ONLY g.inside_only
#endif
#ifndef WINDOW_ROWS
#define WINDOW_ROWS g.window_rows
#endif

#define BLOCKS (BLOCKS_ACROSS * BLOCKS_DOWN)
#define RUNS ((TILE_ROWS + RUN - 1) / RUN)
#define TASKS (BLOCKS * RUNS * TILE_COLUMNS)

// Column of candidates, run, and block of the group, by task.
#define TASK_COLUMN(task) ((task) % (uint)TILE_COLUMNS)
#define TASK_RUN(task) ((task) / (uint)(TILE_COLUMNS * BLOCKS_ACROSS) % (uint)RUNS)
#define TASK_ACROSS(task) ((task) / (uint)TILE_COLUMNS % (uint)BLOCKS_ACROSS)
#define TASK_DOWN(task) ((task) / (uint)(TILE_COLUMNS * BLOCKS_ACROSS * RUNS))
#define TASK_BLOCK(task) (TASK_DOWN(task) * BLOCKS_ACROSS + TASK_ACROSS(task))

// Row in the tile of a run's first candidate.
#define FIRST_ROW(run) min((int)(run) * RUN, TILE_ROWS - RUN)

// Rows of samples that a tile's candidates cover.
#define AREA_ROWS (TILE_ROWS + BLOCKS_DOWN * BLOCK - 1)

// The rows of a run whose candidates count, from the first to the last; (x, y) is the sample at which the
// run's first candidate begins. If none counts, the first row is past the last.
static inline int first_that_counts(Geometry g, int x, int y)
{
    const bool column_counts = x >= 0 && x + BLOCK <= g.extended_width;
    return !INSIDE_ONLY ? 0 : column_counts ? -g.above - y : RUN;
}

static inline int last_that_counts(Geometry g, int y)
{
    return !INSIDE_ONLY ? RUN - 1 : g.extended_height - BLOCK - y;
}
