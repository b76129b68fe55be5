// The Collaborative Method: a job is one displacement of the whole frame, and a work-item takes one
// block of one job.
//
// A. Uta, "Collaborative Multi-Device Motion Estimation on Multi/Many-Core Platforms" (2012):
// `collaborative_naive` is section 6.2.1, figure 6; `collaborative_staged` is sections 6.2.1-6.2.3,
// figure 7; `collaborative_unaligned` is section 6.2.4, figure 8. All three run all jobs in one launch
// and compute the job from the global index (6.2.3).
//
//   job      displacement number `job` of the window, row by row
//   costs    cost of block b in job j at (first_slot + j - first_job) * columns * rows + b: adjacent
//            items write adjacent words. A launch takes the jobs from `first_job` on, so the buffer
//            may hold fewer jobs than there are, and several launches may fill it (6.2.3).
//
// A group may have any number of items: as many as a row of the frame has blocks (figure 7), or few
// (sections 8.4 and 9).
//
// Candidates that do not count are computed from the margin of the frame, and reduce.cl leaves them
// out: as in the thesis, no item branches at the border.

#include "../common.cl"
#include "../spans.cl"

// Whether `collaborative_staged` keeps word j of all items together: as GPUs read local memory fastest. On CPUs the
// words of an item together are faster (figure 7's order, which SINGLE_SAMPLES needs).
#ifndef WORDS_TOGETHER
#define WORDS_TOGETHER 1
#endif

// Figure 6: every sample is read by itself from global memory.
__kernel FIXED_GROUP void collaborative_naive(__global const uchar *current,
                                              __global const uchar *reference, __global uint *costs,
                                              int first_job, int first_slot, int jobs, Geometry g)
{
    const uint blocks = (uint)(g.columns * g.rows), index = (uint)get_global_id(0);
    if (index >= (uint)jobs * blocks)
        return;
    const int2 d = displacement_at(g, first_job + (int)(index / blocks));
    const int block = (int)(index % blocks);
    const int left = block % g.columns * BLOCK, top = block / g.columns * BLOCK;
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i) {
        __global const sample_t *c = sample_at(current, g, left, top + i);
        __global const sample_t *r = sample_at(reference, g, left + d.x, top + i + d.y);
        for (int j = 0; j < BLOCK; ++j)
            cost += compare_sample(c[j], r[j]);
    }
    costs[(size_t)first_slot * blocks + index] = cost;
}

// Writes the words of `span` to local memory, `step` words apart.
static inline void stage_span(Span span, __local uint *words, int step)
{
    const uint *from = (const uint *)&span;
    for (int j = 0; j < SPAN_WORDS; ++j)
        words[j * step] = from[j];
}

// Figure 7: a group takes a row of blocks. Each item reads its block row by row, in aligned spans,
// stages the reference samples of that row in local memory, and compares them at the job's offset.
// Adjacent items read adjacent spans.
//
// Departures. Figure 7 stages the samples below the block whatever offset_x is, which its border of 16
// bytes allows up to an offset of 16. Here the staged samples are moved by the whole spans of offset_x:
// 0 to SPAN - 1 samples remain, and one more span on the right, read by the last item, is enough for
// any window. Figure 7 has one buffer and one barrier a row, so a fast item may overwrite what a slow
// one still reads; here two buffers are used in turn. Figure 7 reads single bytes from local memory, as
// here with SINGLE_SAMPLES; without, two words are joined. There the samples of adjacent items are 16 bytes
// apart, which fall into a quarter of the banks of a GPU's local memory: with WORDS_TOGETHER adjacent items
// read adjacent words. A row wider than the largest group is cut into segments, a group each.
//
//   group  (job, row, segment) by the group's number, segment fastest; ceil(columns / items) segments
//          a row
//   lines  two buffers; in each, word j of item i at j * word_step + i * item_step, and the span on the
//          right as the first words of item `items`
__kernel FIXED_GROUP void collaborative_staged(__global const uchar *current,
                                               __global const uchar *reference, __global uint *costs,
                                               __local uint *lines, int first_job, int first_slot,
                                               Geometry g)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int segments = (g.columns + items - 1) / items, group = (int)get_group_id(0);
    const int segment = group % segments, row = group / segments % g.rows;
    const int batch_job = group / segments / g.rows;
    const int2 d = displacement_at(g, first_job + batch_job);

    const int column = segment * items + item;
    const int word_step = WORDS_TOGETHER ? items + 1 : 1, item_step = WORDS_TOGETHER ? 1 : BLOCK_WORDS;
    // Items past the row take part with the samples right of it.
    const int left = min(column, g.columns) * BLOCK;
    // SPAN is a power of two: this rounds down, also below zero.
    const int over = d.x & (SPAN - 1), whole_x = d.x - over;
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i) {
        const int top = row * BLOCK + i;
        __global const Span *c = (__global const Span *)sample_at(current, g, left, top);
        __global const Span *r = (__global const Span *)sample_at(reference, g, left + whole_x, top + d.y);
        __local uint *staged = lines + (i & 1) * (items + 1) * BLOCK_WORDS + item * item_step;
        Span block_line[BLOCK_SPANS];
        for (int s = 0; s < BLOCK_SPANS; ++s) {
            block_line[s] = c[s];
            stage_span(r[s], staged + s * SPAN_WORDS * word_step, word_step);
        }
        if (item == items - 1)
            stage_span(r[BLOCK_SPANS], staged + item_step, word_step);
        barrier(CLK_LOCAL_MEM_FENCE);
#ifdef SINGLE_SAMPLES
        const sample_t *block_samples = (const sample_t *)block_line;
        __local const sample_t *line = (__local const sample_t *)staged + over;
        for (int j = 0; j < BLOCK; ++j)
            cost += compare_sample(block_samples[j], line[j]);
#else
        const uint *block_words = (const uint *)block_line;
        const uint shift = (uint)over & (WORD_SAMPLES - 1);
        int word = over / WORD_SAMPLES;
        __local const uint *line = staged + word * word_step;
        uint low = *line;
        for (int j = 0; j < BLOCK_WORDS; ++j) {
            // The word after an item's last is the next item's first.
            line += ++word == BLOCK_WORDS ? item_step - (BLOCK_WORDS - 1) * word_step : word_step;
            const uint high = *line;
            cost = compare_word(block_words[j], join_words(low, high, shift), cost);
            low = high;
        }
#endif
    }
    if (column < g.columns)
        costs[(size_t)((first_slot + batch_job) * g.rows + row) * (size_t)g.columns + (size_t)column] =
            cost;
}

// Figure 8: rows are read misaligned from global memory, which CPUs can do. It needs no local memory
// and no barrier, so groups may be small. Where the thesis sums up with int4, spans.cl chooses how.
__kernel FIXED_GROUP void collaborative_unaligned(__global const uchar *current,
                                                  __global const uchar *reference, __global uint *costs,
                                                  int first_job, int first_slot, int jobs, Geometry g)
{
    const uint blocks = (uint)(g.columns * g.rows), index = (uint)get_global_id(0);
    if (index >= (uint)jobs * blocks)
        return;
    const int2 d = displacement_at(g, first_job + (int)(index / blocks));
    const int block = (int)(index % blocks);
    const int left = block % g.columns * BLOCK, top = block / g.columns * BLOCK;
    Sums sums = 0;
    for (int i = 0; i < BLOCK; ++i) {
        __global const sample_t *c = sample_at(current, g, left, top + i);
        __global const sample_t *r = sample_at(reference, g, left + d.x, top + i + d.y);
        for (int s = 0; s < BLOCK_SPANS; ++s)
            sums = add_span(LOAD_SAMPLES(c + s * SPAN), LOAD_SAMPLES(r + s * SPAN), sums);
    }
    costs[(size_t)first_slot * blocks + index] = total(sums);
}
