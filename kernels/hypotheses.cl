// The vectors that predict the samples of a block with quality=balanced and, with -D HIGH=1, quality=high. Included after points.cl.
//
//   chosen   a PhaseVector of block (column, row) at row * columns + column
//   coarse   one of each coarse block of 2 << halvings blocks on a side, in the same order; only of those that count anywhere
//   badness  how badly vectors match around each block
//   weights  for each block HYPOTHESES times MATCHES times four numbers: those of its different vectors, of each of their matches
//            the weights in the four cells

// The vectors around a block, HYPOTHESES of them, are FINE ones, those of the blocks around it row by row, and those of the four
// coarse blocks whose centres are on either side.

#ifndef HIGH
#define HIGH 0
#endif

// The matches of a vector: of both ends; with quality=high also that of its start with the frame before, and that of its end with
// the frame after.
#define MATCHES (HIGH ? 3 : 1)

typedef struct {
    // The different vectors.
    int count;
    PhaseVector vectors[HYPOTHESES];
    // For each a bit for every place around the block whose vector it is.
    uint places[HYPOTHESES];
    // The first of the coarse blocks, which may be before the frame, and how much they count.
    int2 first;
    uint share;
} Hypotheses;

// How much coarse vectors count.
static inline uint share_of(uint badness)
{
    return min((max(badness, (uint)COARSE_BADNESS) - COARSE_BADNESS) >> BADNESS_SHIFT, (uint)MOST_COARSE);
}

// The coarse blocks of a row, and the rows.
static inline int2 coarse_grid(FrameShape f)
{
    return ((int2)(f.columns, f.rows) + (2 << f.halvings) - 1) >> (f.halvings + 1);
}

static inline void add_hypothesis(Hypotheses *h, int place, PhaseVector vector)
{
    int k = 0;
    while (k < h->count && any(h->vectors[k] != vector))
        ++k;
    if (k == h->count) {
        h->vectors[k] = vector;
        h->places[k] = 0;
        ++h->count;
    }
    h->places[k] |= 1u << place;
}

// The vectors around a block.
static inline void find_hypotheses(__global const PhaseVector *chosen, __global const PhaseVector *coarse,
                                   __global const uint *badness, FrameShape f, int2 block, Hypotheses *h)
{
    h->count = 0;
    for (int place = 0; place < FINE; ++place) {
        const int2 at = clamp(block + (int2)(place % 3 - 1, place / 3 - 1), (int2)(0, 0), (int2)(f.columns, f.rows) - 1);
        add_hypothesis(h, place, chosen[at.y * f.columns + at.x]);
    }
    h->share = share_of(badness[block.y * f.columns + block.x]);
    // Rounded down.
    h->first = (block - (1 << f.halvings)) >> (f.halvings + 1);
    if (h->share == 0)
        return;
    const int2 grid = coarse_grid(f);
    for (int corner = 0; corner < 4; ++corner) {
        const int2 at = clamp(h->first + (int2)(corner & 1, corner >> 1), (int2)(0, 0), grid - 1);
        add_hypothesis(h, FINE + corner, coarse[at.y * grid.x + at.x]);
    }
}
