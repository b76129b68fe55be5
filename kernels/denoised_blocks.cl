// What blocks are, and how well other frames predict them: what the kernels share that take noise out of frames. Included after
// points.cl.

// Samples of a whole block of luma.
#define SAMPLES (SIDE * SIDE)

// The same fields as the host's `LumaBlock`, `LumaError`, `ChromaBlock`, `ChromaError` and `BlockNoise`.
typedef struct {
    uint samples, sum;
    ulong variation, structure;
} LumaBlock;

typedef struct {
    ulong sum, variation;
    ushort gain;
    int brighter;
} LumaError;

typedef struct {
    ulong samples, variation, along, down;
    long both;
} ChromaBlock;

typedef struct {
    ulong sum;
    ushort gain;
    uchar right, below;
} ChromaError;

typedef struct {
    ulong luma, chroma;
} BlockNoise;

static inline int blocks_of(FrameShape f)
{
    return f.columns * f.rows;
}

// The number of block `block` among those of other frame `reference`.
static inline ulong number_of(FrameShape f, int reference, int block)
{
    return (ulong)reference * (ulong)blocks_of(f) + (ulong)block;
}

// Whether frame `reference` is brighter or darker.
static inline bool is_of_other_light(__global const uint *of_other_light, FrameShape f, int reference)
{
    return 2 * of_other_light[reference] > (uint)blocks_of(f);
}

static inline ulong per_sample(ulong total, uint samples)
{
    return samples == SAMPLES ? total / SAMPLES : total / samples;
}

// The squared difference; if light flickers, without that of the means.
static inline ulong difference_of(LumaError error, bool flickers)
{
    return flickers ? error.variation : error.sum;
}
