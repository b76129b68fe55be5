/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef GST_MOTION_PACKED_H
#define GST_MOTION_PACKED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * SECTION:gstmotionpacked
 * @title: Packed motion vectors
 * @short_description: Reading the packed binary format of `motionserialize` and `motion-vectors`
 *
 * Inline functions that read a file from memory, checked and on machines of any byte order. They need no library, not
 * even GStreamer. A file that `motion-vectors --zstd` wrote has to be unpacked with zstd before.
 *
 * |[<!-- language="C" -->
 * GstMotionPackedReader reader;
 * GstMotionPackedRecord record;
 *
 * if (!gst_motion_packed_reader_init (&reader, data, size))
 *   fprintf (stderr, "this is no file of packed motion vectors\n");
 * while (gst_motion_packed_reader_next (&reader, &record)) {
 *   for (uint32_t row = 0; row < record.rows; row++) {
 *     for (uint32_t column = 0; column < record.columns; column++) {
 *       GstMotionPackedVector vector = gst_motion_packed_record_get (&record, column, row);
 *       ...
 *     }
 *   }
 * }
 * if (reader.size != 0)
 *   fprintf (stderr, "the file is damaged or cut off\n");
 * ]|
 */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * GST_MOTION_PACKED_UNKNOWN:
 *
 * A time that is not known.
 */
#define GST_MOTION_PACKED_UNKNOWN UINT64_MAX

/**
 * GST_MOTION_PACKED_NAME_SIZE:
 *
 * Bytes of the name of a cost.
 */
#define GST_MOTION_PACKED_NAME_SIZE 16

/**
 * GstMotionPackedReader:
 * @data: (nullable): what is left to be read
 * @size: bytes of it: zero at the end of a whole file
 * @fixed_size: bytes of a record before its vectors; zero if the file has no valid header
 */
typedef struct {
  const uint8_t *data;
  size_t size;
  uint32_t fixed_size;
} GstMotionPackedReader;

/**
 * GstMotionPackedVector:
 * @x: to the right, in units of 1 / `scale` sample
 * @y: down, in units of 1 / `scale` sample
 * @cost: matching cost
 */
typedef struct {
  int16_t x;
  int16_t y;
  uint32_t cost;
} GstMotionPackedVector;

/**
 * GstMotionPackedRecord:
 * @frame: number of the frame, from 0; a frame with several fields has several records
 * @pts: timestamp in nanoseconds, or %GST_MOTION_PACKED_UNKNOWN
 * @duration: duration in nanoseconds, or %GST_MOTION_PACKED_UNKNOWN
 * @reference_pts: timestamp of the reference frame, or %GST_MOTION_PACKED_UNKNOWN
 * @metric: matching cost: 0 SAD, 1 SSD
 * @width: frame width in samples
 * @height: frame height in samples
 * @block_width: block width in samples
 * @block_height: block height in samples
 * @columns: columns of blocks; 0 for a frame without vectors
 * @rows: rows of blocks; 0 for a frame without vectors
 * @reference_offset: the reference frame: -1 the previous frame, +1 the next one
 * @scale: units of vectors per sample; 0 for a frame without vectors
 * @costs: number of further costs of each block
 * @vectors: read with gst_motion_packed_record_get()
 * @cost_names: (nullable): with @costs, read with gst_motion_packed_record_find_cost()
 * @cost_values: (nullable): with @costs, read with gst_motion_packed_record_get_cost()
 *
 * The record of a frame. It points into the memory of the file.
 */
typedef struct {
  uint64_t frame;
  uint64_t pts;
  uint64_t duration;
  uint64_t reference_pts;
  uint32_t metric;
  uint32_t width;
  uint32_t height;
  uint32_t block_width;
  uint32_t block_height;
  uint32_t columns;
  uint32_t rows;
  int32_t reference_offset;
  uint32_t scale;
  uint32_t costs;
  const uint8_t *vectors;
  const uint8_t *cost_names;
  const uint8_t *cost_values;
} GstMotionPackedRecord;

/* Little-endian numbers at any address. */
static inline uint32_t
gst_motion_packed_u32 (const uint8_t * bytes)
{
  return (uint32_t) bytes[0] | (uint32_t) bytes[1] << 8
      | (uint32_t) bytes[2] << 16 | (uint32_t) bytes[3] << 24;
}

static inline uint64_t
gst_motion_packed_u64 (const uint8_t * bytes)
{
  return gst_motion_packed_u32 (bytes)
      | (uint64_t) gst_motion_packed_u32 (bytes + 4) << 32;
}

static inline int16_t
gst_motion_packed_i16 (const uint8_t * bytes)
{
  int32_t value = bytes[0] | bytes[1] << 8;

  return (int16_t) (value < 0x8000 ? value : value - 0x10000);
}

static inline int32_t
gst_motion_packed_i32 (const uint8_t * bytes)
{
  int64_t value = gst_motion_packed_u32 (bytes);

  return (int32_t) (value < 0x80000000LL ? value : value - 0x100000000LL);
}

/**
 * gst_motion_packed_reader_init:
 * @reader: (out): a reader
 * @data: a whole file
 * @size: bytes of it
 *
 * Begins to read a file, which must stay where it is while its records are used.
 *
 * Returns: 0 if the file does not begin as one of this format; there are no records then
 */
static inline int
gst_motion_packed_reader_init (GstMotionPackedReader * reader,
    const void *data, size_t size)
{
  reader->data = (const uint8_t *) data;
  reader->size = size;
  reader->fixed_size = 0;
  if (size < 16 || memcmp (reader->data, "GSTMVECS", 8) != 0
      || gst_motion_packed_u32 (reader->data + 8) != 1
      || gst_motion_packed_u32 (reader->data + 12) < 72)
    return 0;
  reader->fixed_size = gst_motion_packed_u32 (reader->data + 12);
  reader->data += 16;
  reader->size -= 16;
  return 1;
}

/**
 * gst_motion_packed_reader_next:
 * @reader: a reader
 * @record: (out): the next record of a frame
 *
 * Reads and checks the next record; notes of programs are skipped.
 *
 * Returns: 0 at the end, and if the file is damaged or cut off: `size` of @reader is not 0 then
 */
static inline int
gst_motion_packed_reader_next (GstMotionPackedReader * reader,
    GstMotionPackedRecord * record)
{
  while (reader->fixed_size != 0 && reader->size >= reader->fixed_size) {
    const uint8_t *data = reader->data;
    uint32_t size = gst_motion_packed_u32 (data);
    uint64_t blocks, left;

    memset (record, 0, sizeof (*record));
    if (size < reader->fixed_size || size > reader->size)
      return 0;
    record->metric = gst_motion_packed_u32 (data + 4);
    if (record->metric == UINT32_MAX) {
      reader->data += size;
      reader->size -= size;
      continue;
    }
    record->frame = gst_motion_packed_u64 (data + 8);
    record->pts = gst_motion_packed_u64 (data + 16);
    record->duration = gst_motion_packed_u64 (data + 24);
    record->reference_pts = gst_motion_packed_u64 (data + 32);
    record->width = gst_motion_packed_u32 (data + 40);
    record->height = gst_motion_packed_u32 (data + 44);
    record->block_width = gst_motion_packed_u32 (data + 48);
    record->block_height = gst_motion_packed_u32 (data + 52);
    record->columns = gst_motion_packed_u32 (data + 56);
    record->rows = gst_motion_packed_u32 (data + 60);
    record->reference_offset = gst_motion_packed_i32 (data + 64);
    record->scale = gst_motion_packed_u32 (data + 68);

    blocks = (uint64_t) record->columns * record->rows;
    left = size - reader->fixed_size;
    if (blocks > left / 8)
      return 0;
    /* The grid must cover the frame exactly. */
    if ((record->columns != 0 || record->rows != 0) && (record->scale == 0 || record->width == 0
            || record->height == 0 || record->block_width == 0
            || record->block_height == 0
            || record->columns != (record->width - 1) / record->block_width + 1
            || record->rows != (record->height - 1) / record->block_height + 1))
      return 0;
    record->vectors = data + reader->fixed_size;
    left -= blocks * 8;
    if (left != 0) {
      const uint8_t *costs = record->vectors + (size_t) blocks * 8;

      if (left < 4)
        return 0;
      record->costs = gst_motion_packed_u32 (costs);
      left -= 4;
      if (record->costs > left / GST_MOTION_PACKED_NAME_SIZE)
        return 0;
      left -= (uint64_t) record->costs * GST_MOTION_PACKED_NAME_SIZE;
      if (record->costs != 0 && blocks > left / 4 / record->costs)
        return 0;
      record->cost_names = costs + 4;
      record->cost_values = record->cost_names
          + (size_t) record->costs * GST_MOTION_PACKED_NAME_SIZE;
    }
    reader->data += size;
    reader->size -= size;
    return 1;
  }
  return 0;
}

/**
 * gst_motion_packed_record_get:
 * @record: a record
 * @column: less than `columns`
 * @row: less than `rows`
 *
 * Returns: the vector of the block at @column and @row; zero outside the grid
 */
static inline GstMotionPackedVector
gst_motion_packed_record_get (const GstMotionPackedRecord * record,
    uint32_t column, uint32_t row)
{
  GstMotionPackedVector vector = { 0, 0, 0 };

  if (column < record->columns && row < record->rows) {
    const uint8_t *bytes =
        record->vectors + ((size_t) row * record->columns + column) * 8;

    vector.x = gst_motion_packed_i16 (bytes);
    vector.y = gst_motion_packed_i16 (bytes + 2);
    vector.cost = gst_motion_packed_u32 (bytes + 4);
  }
  return vector;
}

/**
 * gst_motion_packed_record_find_cost:
 * @record: a record
 * @name: the name of a cost, such as "satd"
 *
 * Returns: the index of the cost for gst_motion_packed_record_get_cost(), or -1 if the record has no cost of this name
 */
static inline int
gst_motion_packed_record_find_cost (const GstMotionPackedRecord * record,
    const char *name)
{
  size_t length = strlen (name);
  uint32_t i;

  if (length == 0 || length > GST_MOTION_PACKED_NAME_SIZE)
    return -1;
  for (i = 0; i < record->costs && i < INT32_MAX; i++) {
    const uint8_t *found =
        record->cost_names + (size_t) i * GST_MOTION_PACKED_NAME_SIZE;

    if (memcmp (found, name, length) == 0
        && (length == GST_MOTION_PACKED_NAME_SIZE || found[length] == 0))
      return (int) i;
  }
  return -1;
}

/**
 * gst_motion_packed_record_get_cost:
 * @record: a record
 * @index: from gst_motion_packed_record_find_cost()
 * @column: less than `columns`
 * @row: less than `rows`
 *
 * Returns: the cost of the block at @column and @row; zero outside the grid and if there is no cost at @index
 */
static inline uint32_t
gst_motion_packed_record_get_cost (const GstMotionPackedRecord * record,
    int index, uint32_t column, uint32_t row)
{
  if (index < 0 || (uint32_t) index >= record->costs
      || column >= record->columns || row >= record->rows)
    return 0;
  return gst_motion_packed_u32 (record->cost_values
      + (((size_t) row * record->columns + column) * record->costs
          + (uint32_t) index) * 4);
}

#ifdef __cplusplus
}
#endif

#endif /* GST_MOTION_PACKED_H */
