// The Collaborative Method: a job is one displacement of the whole picture, and a work-item takes
// one block of one job.
//
// D. Uta, "Collaborative Motion Estimation" (2012): `collaborative_naive` is section 6.2.1,
// figure 6; `collaborative_staged` is sections 6.2.1-6.2.3, figure 7; `collaborative_unaligned` is
// section 6.2.4, figure 8. Section 6.2.3's way of running all jobs in one launch, the job computed
// from the global index, holds for the three.
//
//   job      displacement (x0 + job % window_columns, y0 + job / window_columns)
//   costs    of block b in job j at (j - first_job) * columns * rows + b: adjacent items write
//            adjacent words. A launch takes `jobs` jobs from `first_job` on, so that the buffer
//            may be smaller than all of them need.
//
// Candidates that do not count are computed too, where they lie in the room around the picture,
// and left out by reduce.cl: as in the thesis, no item branches at the border.

#include "common.cl"

// Samples read at once: the widest of 16, 8 and 4 that divides the block. The thesis knows blocks
// of 16 and reads int4; smaller blocks are aligned to less.
#if BLOCK % 16 == 0
#define SPAN 16
typedef uint4 Span;
typedef uchar16 Samples;
#define LOAD_SAMPLES(pointer) vload16(0, pointer)
#define COMPARE_SPAN(c, r, cost) \
    compare_four((c).w, (r).w,   \
                 compare_four((c).z, (r).z, compare_four((c).y, (r).y, compare_four((c).x, (r).x, cost))))
#define AS_SPAN(samples) as_uint4(samples)
#elif BLOCK % 8 == 0
#define SPAN 8
typedef uint2 Span;
typedef uchar8 Samples;
#define LOAD_SAMPLES(pointer) vload8(0, pointer)
#define COMPARE_SPAN(c, r, cost) compare_four((c).y, (r).y, compare_four((c).x, (r).x, cost))
#define AS_SPAN(samples) as_uint2(samples)
#else
#define SPAN 4
typedef uint Span;
typedef uchar4 Samples;
#define LOAD_SAMPLES(pointer) vload4(0, pointer)
#define COMPARE_SPAN(c, r, cost) compare_four(c, r, cost)
#define AS_SPAN(samples) as_uint(samples)
#endif

#define BLOCK_SPANS (BLOCK / SPAN)

// Figure 6: every sample by itself from global memory.
__kernel void collaborative_naive(__global const uchar *current, __global const uchar *reference,
                                  __global uint *costs, int first_job, int jobs, Geometry g)
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
    costs[index] = cost;
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
__kernel void collaborative_staged(__global const uchar *current, __global const uchar *reference,
                                   __global uint *costs, __local Span *lines, int first_job,
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
        costs[(size_t)(batch_job * g.rows + row) * (size_t)g.columns + (size_t)column] = cost;
}

// Figure 8: misaligned lines straight from global memory, which CPUs can do; no local memory, no
// barrier, so that groups may be small.
//
// The thesis leaves the sums to its int4 code. Where four samples are no instruction of the
// device's, 16 sums of 16 bits run side by side and are added up once: a lane of the largest block
// takes 64 rows of 4 spans, 64 * 4 * 255 = 65280, which fits.
#if SPAN == 16 && !METRIC_SSD && FOUR_SAMPLES == 0
#define LANE_SUMS 1
#else
#define LANE_SUMS 0
#endif

__kernel void collaborative_unaligned(__global const uchar *current, __global const uchar *reference,
                                      __global uint *costs, int first_job, int jobs, Geometry g)
{
    const uint blocks = (uint)(g.columns * g.rows), index = (uint)get_global_id(0);
    if (index >= (uint)jobs * blocks)
        return;
    const int job = first_job + (int)(index / blocks), block = (int)(index % blocks);
    const int x = g.x0 + job % g.window_columns, y = g.y0 + job / g.window_columns;
    const int left = block % g.columns * BLOCK, top = block / g.columns * BLOCK;
#if LANE_SUMS
    ushort16 sums = 0;
#endif
    uint cost = 0;
    for (int i = 0; i < BLOCK; ++i) {
        __global const uchar *c = sample_at(current, g, left, top + i);
        __global const uchar *r = sample_at(reference, g, left + x, top + i + y);
        for (int s = 0; s < BLOCK_SPANS; ++s) {
            const Samples cs = LOAD_SAMPLES(c + s * SPAN), rs = LOAD_SAMPLES(r + s * SPAN);
#if LANE_SUMS
            sums += convert_ushort16(max(cs, rs) - min(cs, rs));
#else
            cost = COMPARE_SPAN(AS_SPAN(cs), AS_SPAN(rs), cost);
#endif
        }
    }
#if LANE_SUMS
    const uint8 eight = convert_uint8(sums.lo) + convert_uint8(sums.hi);
    const uint4 four = eight.lo + eight.hi;
    cost = (four.x + four.y) + (four.z + four.w);
#endif
    costs[index] = cost;
}
