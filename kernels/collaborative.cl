// The Collaborative Method: a job is one displacement of the whole frame, and a work-item takes
// one block of one job.
//
// D. Uta, "Collaborative Motion Estimation" (2012): `collaborative_naive` is section 6.2.1,
// figure 6; `collaborative_staged` is sections 6.2.1-6.2.3, figure 7; `collaborative_unaligned` is
// section 6.2.4, figure 8. Section 6.2.3's way of running all jobs in one launch, the job computed
// from the global index, holds for the three.
//
//   job      displacement (x0 + job % window_columns, y0 + job / window_columns)
//   costs    of block b in job j at (first_slot + j - first_job) * columns * rows + b: adjacent
//            items write adjacent words. A launch takes jobs from `first_job` on, so that the buffer
//            may be smaller than all of them need, and several launches may fill it (6.2.3).
//
// A group may have any number of items: as many as a row of the frame has blocks (figure 7), or
// few and fixed (sections 8.4 and 9).
//
// Candidates that do not count are computed too, where they lie in the room around the frame,
// and left out by reduce.cl: as in the thesis, no item branches at the border.

#include "common.cl"
#include "spans.cl"

// Figure 6: every sample by itself from global memory.
__kernel FIXED_GROUP void collaborative_naive(__global const uchar *current,
                                              __global const uchar *reference, __global uint *costs,
                                              int first_job, int first_slot, int jobs, Geometry g)
{
    const uint blocks = (uint)(g.columns * g.rows), index = (uint)get_global_id(0);
    if (index >= (uint)jobs * blocks)
        return;
    const int job = first_job + (int)(index / blocks), block = (int)(index % blocks);
    const int x = g.x0 + job % g.window_columns, y = g.y0 + job / g.window_columns;
    const int left = block % g.columns * BLOCK, top = block / g.columns * BLOCK;
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i) {
        __global const uchar *c = sample_at(current, g, left, top + i);
        __global const uchar *r = sample_at(reference, g, left + x, top + i + y);
        for (int j = 0; j < BLOCK; ++j)
            cost += compare_sample(c[j], r[j]);
    }
    costs[(size_t)first_slot * blocks + index] = cost;
}

// Figure 7: a group takes a row of blocks. Line by line each item reads the current line of its
// block, 16 aligned bytes at a time, stages the reference line that lies under it, and compares
// at the job's offset in local memory. The spans of adjacent items lie side by side: coalesced.
//
// Departures. Figure 7 stages the line under the block whatever offset_x is, which with the 16
// byte border holds for offsets up to 16. Here the line staged is moved by the whole spans in
// offset_x, so that 0 to SPAN - 1 samples are left and one span more on the right, read by the
// last item, is enough for any window. Figure 7 waits once a line on one buffer, where a fast item
// could overwrite what a slow one still reads; two buffers in turn make the one barrier right.
// Figure 7 reads single bytes from local memory; here two words are joined. A row wider than the
// largest group is cut into several groups.
//
//   group  (job, row, segment) from the group's number, segment fastest; segments a row:
//          ceil(columns / items)
//   lines  two lines of items * BLOCK_SPANS + 1 spans; declared as spans, because a device may
//          align local memory no better than its type asks
__kernel FIXED_GROUP void collaborative_staged(__global const uchar *current,
                                               __global const uchar *reference, __global uint *costs,
                                               __local Span *lines, int first_job, int first_slot,
                                               Geometry g)
{
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    const int segments = (g.columns + items - 1) / items, group = (int)get_group_id(0);
    const int segment = group % segments, row = group / segments % g.rows;
    const int batch_job = group / segments / g.rows, job = first_job + batch_job;
    const int x = g.x0 + job % g.window_columns, y = g.y0 + job / g.window_columns;

    const int column = segment * items + item, line_spans = items * BLOCK_SPANS + 1;
    // Items past the row do as the others do, on the samples right of it.
    const int left = min(column, g.columns) * BLOCK;
    // Rounds down, also below zero: SPAN is a power of two.
    const int over = x & (SPAN - 1), whole_x = x - over;
    const uint shift = (uint)over & 3;
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i) {
        const int top = row * BLOCK + i;
        __global const Span *c = (__global const Span *)sample_at(current, g, left, top);
        __global const Span *r = (__global const Span *)sample_at(reference, g, left + whole_x, top + y);
        __local Span *staged = lines + (i & 1) * line_spans + item * BLOCK_SPANS;
        Span block_line[BLOCK_SPANS];
        for (int s = 0; s < BLOCK_SPANS; ++s) {
            block_line[s] = c[s];
            staged[s] = r[s];
        }
        if (item == items - 1)
            staged[BLOCK_SPANS] = r[BLOCK_SPANS];
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint *block_words = (const uint *)block_line;
        __local const uint *line = (__local const uint *)staged + over / 4;
        uint low = line[0];
        for (int j = 0; j < BLOCK_WORDS; ++j) {
            const uint high = line[j + 1];
            cost = compare_four(block_words[j], join_words(low, high, shift), cost);
            low = high;
        }
    }
    if (column < g.columns)
        costs[(size_t)((first_slot + batch_job) * g.rows + row) * (size_t)g.columns + (size_t)column] =
            cost;
}

// Figure 8: misaligned lines straight from global memory, which CPUs can do; no local memory, no
// barrier, so that groups may be small. The thesis leaves the sums to its int4 code; here spans.cl
// chooses them.
__kernel FIXED_GROUP void collaborative_unaligned(__global const uchar *current,
                                                  __global const uchar *reference, __global uint *costs,
                                                  int first_job, int first_slot, int jobs, Geometry g)
{
    const uint blocks = (uint)(g.columns * g.rows), index = (uint)get_global_id(0);
    if (index >= (uint)jobs * blocks)
        return;
    const int job = first_job + (int)(index / blocks), block = (int)(index % blocks);
    const int x = g.x0 + job % g.window_columns, y = g.y0 + job / g.window_columns;
    const int left = block % g.columns * BLOCK, top = block / g.columns * BLOCK;
    Sums sums = 0;
    for (int i = 0; i < BLOCK; ++i) {
        __global const uchar *c = sample_at(current, g, left, top + i);
        __global const uchar *r = sample_at(reference, g, left + x, top + i + y);
        for (int s = 0; s < BLOCK_SPANS; ++s)
            sums = add_span(LOAD_SAMPLES(c + s * SPAN), LOAD_SAMPLES(r + s * SPAN), sums);
    }
    costs[(size_t)first_slot * blocks + index] = total(sums);
}
