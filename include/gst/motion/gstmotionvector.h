/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef GST_MOTION_VECTOR_H
#define GST_MOTION_VECTOR_H

#include <string.h>

#include <gst/gst.h>

/**
 * SECTION:gstmotionvector
 * @title: Motion vectors
 * @short_description: Reading the motion fields that `motionestimate` attaches to buffers
 *
 * A motion field is a #GstCustomMeta named #GST_MOTION_VECTOR_META_NAME. This header reads it with
 * inline functions; it needs no library except GStreamer 1.20 or later. A buffer whose frame was searched in several
 * frames has several fields: gst_motion_vector_field_read_nth() and gst_motion_vector_field_read_at() read each.
 *
 * A field is for frames of its `width` and `height`. If these are not those of the caps, an element that does not know
 * the field has changed the frame: leave the field out.
 *
 * |[<!-- language="C" -->
 * GstMotionVectorField field;
 *
 * if (gst_motion_vector_field_read (buffer, &field)) {
 *   for (guint row = 0; row < field.rows; row++) {
 *     for (guint column = 0; column < field.columns; column++) {
 *       gfloat x, y;
 *
 *       gst_motion_vector_field_get_samples (&field, column, row, &x, &y);
 *       ...
 *     }
 *   }
 * }
 * ]|
 */

G_BEGIN_DECLS

/**
 * GST_MOTION_VECTOR_META_NAME:
 *
 * The name of the custom meta.
 */
#define GST_MOTION_VECTOR_META_NAME "MotionVectorMeta"

/**
 * GST_MOTION_VECTOR_META_VERSION:
 *
 * The version of the meta's structure that this header reads.
 */
#define GST_MOTION_VECTOR_META_VERSION 1

/**
 * GstMotionVector:
 * @x: to the right, in units of 1 / `scale` sample
 * @y: down, in units of 1 / `scale` sample
 * @cost: matching cost, SAD or SSD
 *
 * The motion vector of one block: the block at `(bx, by)` of the current frame is matched by the block
 * at `(bx + x / scale, by + y / scale)` of the reference frame. `scale` is a member of
 * #GstMotionVectorField, and not the same for every algorithm; gst_motion_vector_field_get_samples()
 * divides by it.
 */
typedef struct {
  gint16 x;
  gint16 y;
  guint32 cost;
} GstMotionVector;

G_STATIC_ASSERT (sizeof (GstMotionVector) == 8);

/**
 * GstMotionVectorPredictor:
 * @x: to the right, in units of 1 / `scale` sample
 * @y: down, in units of 1 / `scale` sample
 *
 * The vector that an H.264 encoder predicts for one block from those of its neighbours.
 */
typedef struct {
  gint16 x;
  gint16 y;
} GstMotionVectorPredictor;

G_STATIC_ASSERT (sizeof (GstMotionVectorPredictor) == 4);

/**
 * GstMotionVectorField:
 * @width: frame width in samples
 * @height: frame height in samples
 * @block_width: block width in samples
 * @block_height: block height in samples
 * @columns: columns of blocks
 * @rows: rows of blocks
 * @scale: units of vectors and predictors per sample, at least 1
 * @reference_offset: the reference frame: -1 the previous frame, -2 the one before, +1 the next one
 * @reference_pts: timestamp of the reference frame, or %GST_CLOCK_TIME_NONE
 * @metric: matching cost: "sad" or "ssd"
 * @vectors: `rows` x `columns` records, row-major, possibly unaligned; read them with
 *   gst_motion_vector_field_get()
 * @predictors: (nullable): as many predictors, row-major, possibly unaligned, or %NULL if the field has
 *   none; read them with gst_motion_vector_field_get_predictor()
 * @devices: (nullable): if several devices each searched whole rows of blocks, an array of their names
 *   (strings), else %NULL
 * @row_devices: (nullable): with @devices, one index per row of blocks; read both with
 *   gst_motion_vector_field_get_row_device()
 * @bit_depth: bits of the samples that the costs are of: 8 to 16
 * @cost_names: (nullable): the names of further costs of each block, an array of strings such as "zero", "intra"
 *   and "satd", or %NULL if the field has none
 * @costs: (nullable): with @cost_names, for each block, row-major, one guint32 for each name, possibly unaligned; read
 *   them with gst_motion_vector_field_get_cost()
 * @scene_cut: %TRUE if the frame is known to begin another scene than its reference frame shows
 * @duplicate: %TRUE if luma is known to equal that of the reference frame
 *
 * A motion field. @metric, @vectors, @predictors, @devices, @row_devices, @cost_names and @costs point into the
 * meta and are valid as long as it exists.
 */
typedef struct {
  guint width;
  guint height;
  guint block_width;
  guint block_height;
  guint columns;
  guint rows;
  guint scale;
  gint reference_offset;
  GstClockTime reference_pts;
  const gchar *metric;
  gconstpointer vectors;
  gconstpointer predictors;
  const GValue *devices;
  const guint8 *row_devices;
  guint bit_depth;
  const GValue *cost_names;
  gconstpointer costs;
  gboolean scene_cut;
  gboolean duplicate;
} GstMotionVectorField;

/**
 * gst_motion_vector_field_parse:
 * @structure: the structure of a meta
 * @field: (out): the motion field; all zero if %FALSE is returned
 *
 * Reads and checks a motion field.
 *
 * Returns: %FALSE if a field of the structure is missing, has a wrong type or an invalid value, or if
 *   the version is not %GST_MOTION_VECTOR_META_VERSION
 */
static inline gboolean
gst_motion_vector_field_parse (const GstStructure * structure,
    GstMotionVectorField * field)
{
  GstMotionVectorField read;
  guint version = 0;
  guint64 pts = 0;
  const GValue *bytes;
  gsize length = 0;

  memset (field, 0, sizeof (*field));
  memset (&read, 0, sizeof (read));
  if (!gst_structure_get_uint (structure, "version", &version)
      || version != GST_MOTION_VECTOR_META_VERSION
      || !gst_structure_get_uint (structure, "scale", &read.scale)
      || read.scale == 0
      || !gst_structure_get_uint (structure, "width", &read.width)
      || !gst_structure_get_uint (structure, "height", &read.height)
      || !gst_structure_get_uint (structure, "block-width", &read.block_width)
      || !gst_structure_get_uint (structure, "block-height",
          &read.block_height)
      || !gst_structure_get_uint (structure, "columns", &read.columns)
      || !gst_structure_get_uint (structure, "rows", &read.rows)
      || !gst_structure_get_int (structure, "reference-offset",
          &read.reference_offset)
      || !gst_structure_get_uint64 (structure, "reference-pts", &pts))
    return FALSE;

  read.reference_pts = pts;
  read.bit_depth = 8;
  if (gst_structure_has_field (structure, "bit-depth")
      && (!gst_structure_get_uint (structure, "bit-depth", &read.bit_depth)
          || read.bit_depth < 8 || read.bit_depth > 16))
    return FALSE;
  read.metric = gst_structure_get_string (structure, "metric");
  if (read.metric == NULL || (strcmp (read.metric, "sad") != 0
          && strcmp (read.metric, "ssd") != 0))
    return FALSE;

  /* The grid must cover the frame exactly: ceil (size / block), without overflow. */
  if (read.width == 0 || read.height == 0
      || read.block_width == 0 || read.block_height == 0
      || read.columns != (read.width - 1) / read.block_width + 1
      || read.rows != (read.height - 1) / read.block_height + 1)
    return FALSE;

  bytes = gst_structure_get_value (structure, "vectors");
  if (bytes == NULL || !G_VALUE_HOLDS (bytes, G_TYPE_BYTES)
      || g_value_get_boxed (bytes) == NULL)
    return FALSE;
  read.vectors =
      g_bytes_get_data ((GBytes *) g_value_get_boxed (bytes), &length);
  if (length % sizeof (GstMotionVector) != 0
      || length / sizeof (GstMotionVector) !=
      (guint64) read.columns * read.rows)
    return FALSE;

  bytes = gst_structure_get_value (structure, "predictors");
  if (bytes != NULL) {
    if (!G_VALUE_HOLDS (bytes, G_TYPE_BYTES)
        || g_value_get_boxed (bytes) == NULL)
      return FALSE;
    read.predictors =
        g_bytes_get_data ((GBytes *) g_value_get_boxed (bytes), &length);
    if (length % sizeof (GstMotionVectorPredictor) != 0
        || length / sizeof (GstMotionVectorPredictor) !=
        (guint64) read.columns * read.rows)
      return FALSE;
  }

  read.devices = gst_structure_get_value (structure, "devices");
  bytes = gst_structure_get_value (structure, "row-devices");
  if (read.devices != NULL || bytes != NULL) {
    guint names, i;

    if (read.devices == NULL || !GST_VALUE_HOLDS_ARRAY (read.devices)
        || bytes == NULL || !G_VALUE_HOLDS (bytes, G_TYPE_BYTES)
        || g_value_get_boxed (bytes) == NULL)
      return FALSE;
    names = gst_value_array_get_size (read.devices);
    for (i = 0; i < names; i++) {
      const GValue *name = gst_value_array_get_value (read.devices, i);

      if (!G_VALUE_HOLDS_STRING (name) || g_value_get_string (name) == NULL)
        return FALSE;
    }
    read.row_devices = (const guint8 *)
        g_bytes_get_data ((GBytes *) g_value_get_boxed (bytes), &length);
    if (length != read.rows)
      return FALSE;
    for (i = 0; i < read.rows; i++)
      if (read.row_devices[i] >= names)
        return FALSE;
  }

  if ((gst_structure_has_field (structure, "scene-cut")
          && !gst_structure_get_boolean (structure, "scene-cut",
              &read.scene_cut))
      || (gst_structure_has_field (structure, "duplicate")
          && !gst_structure_get_boolean (structure, "duplicate",
              &read.duplicate)))
    return FALSE;

  read.cost_names = gst_structure_get_value (structure, "cost-names");
  bytes = gst_structure_get_value (structure, "costs");
  if (read.cost_names != NULL || bytes != NULL) {
    guint names, i;

    if (read.cost_names == NULL || !GST_VALUE_HOLDS_ARRAY (read.cost_names)
        || bytes == NULL || !G_VALUE_HOLDS (bytes, G_TYPE_BYTES)
        || g_value_get_boxed (bytes) == NULL)
      return FALSE;
    names = gst_value_array_get_size (read.cost_names);
    for (i = 0; i < names; i++) {
      const GValue *name = gst_value_array_get_value (read.cost_names, i);

      if (!G_VALUE_HOLDS_STRING (name) || g_value_get_string (name) == NULL)
        return FALSE;
    }
    read.costs = g_bytes_get_data ((GBytes *) g_value_get_boxed (bytes), &length);
    if (names == 0 || length % (names * sizeof (guint32)) != 0
        || length / (names * sizeof (guint32)) !=
        (guint64) read.columns * read.rows)
      return FALSE;
  }

  *field = read;
  return TRUE;
}

/**
 * gst_motion_vector_field_read_nth:
 * @buffer: a buffer
 * @n: index of the motion field, in the order in which they were attached
 * @field: (out): the motion field; all zero if %FALSE is returned
 *
 * Reads and checks one of several motion fields of @buffer.
 *
 * Returns: %FALSE if there is no such field or it does not follow the format
 */
static inline gboolean
gst_motion_vector_field_read_nth (GstBuffer * buffer, guint n,
    GstMotionVectorField * field)
{
  gpointer state = NULL;
  GstMeta *meta;

  memset (field, 0, sizeof (*field));
  while ((meta = gst_buffer_iterate_meta (buffer, &state)) != NULL) {
    if (!gst_meta_info_is_custom (meta->info)
        || !gst_custom_meta_has_name ((GstCustomMeta *) meta,
            GST_MOTION_VECTOR_META_NAME))
      continue;
    if (n-- == 0)
      return gst_motion_vector_field_parse (gst_custom_meta_get_structure (
              (GstCustomMeta *) meta), field);
  }
  return FALSE;
}

/**
 * gst_motion_vector_field_read:
 * @buffer: a buffer
 * @field: (out): the motion field; all zero if %FALSE is returned
 *
 * Reads and checks the first motion field of @buffer.
 *
 * Returns: %FALSE if there is none or it does not follow the format
 */
static inline gboolean
gst_motion_vector_field_read (GstBuffer * buffer, GstMotionVectorField * field)
{
  return gst_motion_vector_field_read_nth (buffer, 0, field);
}

/**
 * gst_motion_vector_field_read_at:
 * @buffer: a buffer
 * @reference_offset: the reference frame: -1 the previous frame, -2 the one before, +1 the next one
 * @field: (out): the motion field; all zero if %FALSE is returned
 *
 * Reads and checks the motion field of @buffer for one of several reference frames.
 *
 * Returns: %FALSE if there is no such field, or if it or one before it does not follow the format
 */
static inline gboolean
gst_motion_vector_field_read_at (GstBuffer * buffer, gint reference_offset,
    GstMotionVectorField * field)
{
  guint n;

  for (n = 0; gst_motion_vector_field_read_nth (buffer, n, field); n++)
    if (field->reference_offset == reference_offset)
      return TRUE;
  memset (field, 0, sizeof (*field));
  return FALSE;
}

/**
 * gst_motion_vector_field_get:
 * @field: a motion field
 * @column: less than `columns`
 * @row: less than `rows`
 *
 * Returns: the vector of the block at @column and @row; zero outside the grid
 */
static inline GstMotionVector
gst_motion_vector_field_get (const GstMotionVectorField * field, guint column,
    guint row)
{
  GstMotionVector vector = { 0, 0, 0 };

  if (column < field->columns && row < field->rows)
    memcpy (&vector, (const guint8 *) field->vectors
        + ((gsize) row * field->columns + column) * sizeof (vector),
        sizeof (vector));
  return vector;
}

/**
 * gst_motion_vector_field_get_samples:
 * @field: a motion field
 * @column: less than `columns`
 * @row: less than `rows`
 * @x: (out): to the right, in samples
 * @y: (out): down, in samples
 *
 * Reads the vector of the block at @column and @row in samples; zero outside the grid.
 */
static inline void
gst_motion_vector_field_get_samples (const GstMotionVectorField * field,
    guint column, guint row, gfloat * x, gfloat * y)
{
  GstMotionVector vector = gst_motion_vector_field_get (field, column, row);

  *x = field->scale == 0 ? 0 : (gfloat) vector.x / (gfloat) field->scale;
  *y = field->scale == 0 ? 0 : (gfloat) vector.y / (gfloat) field->scale;
}

/**
 * gst_motion_vector_field_get_predictor:
 * @field: a motion field
 * @column: less than `columns`
 * @row: less than `rows`
 *
 * Returns: the predictor of the block at @column and @row; zero outside the grid and if the field has
 *   no predictors
 */
static inline GstMotionVectorPredictor
gst_motion_vector_field_get_predictor (const GstMotionVectorField * field,
    guint column, guint row)
{
  GstMotionVectorPredictor predictor = { 0, 0 };

  if (field->predictors != NULL && column < field->columns
      && row < field->rows)
    memcpy (&predictor, (const guint8 *) field->predictors
        + ((gsize) row * field->columns + column) * sizeof (predictor),
        sizeof (predictor));
  return predictor;
}

/**
 * gst_motion_vector_field_find_cost:
 * @field: a motion field
 * @name: the name of a cost, such as "satd"
 *
 * Returns: the index of the cost for gst_motion_vector_field_get_cost(), or -1 if the field has no cost of this name
 */
static inline gint
gst_motion_vector_field_find_cost (const GstMotionVectorField * field,
    const gchar * name)
{
  guint names, i;

  if (field->cost_names == NULL)
    return -1;
  names = gst_value_array_get_size (field->cost_names);
  for (i = 0; i < names; i++)
    if (strcmp (g_value_get_string (gst_value_array_get_value
                (field->cost_names, i)), name) == 0)
      return (gint) i;
  return -1;
}

/**
 * gst_motion_vector_field_get_cost:
 * @field: a motion field
 * @index: from gst_motion_vector_field_find_cost()
 * @column: less than `columns`
 * @row: less than `rows`
 *
 * Returns: the cost of the block at @column and @row; zero outside the grid and if there is no cost at @index
 */
static inline guint32
gst_motion_vector_field_get_cost (const GstMotionVectorField * field,
    gint index, guint column, guint row)
{
  guint32 cost = 0;
  guint names;

  if (field->cost_names == NULL || index < 0 || column >= field->columns
      || row >= field->rows)
    return 0;
  names = gst_value_array_get_size (field->cost_names);
  if ((guint) index < names)
    memcpy (&cost, (const guint8 *) field->costs
        + (((gsize) row * field->columns + column) * names + (guint) index)
        * sizeof (cost), sizeof (cost));
  return cost;
}

/**
 * gst_motion_vector_field_get_row_device:
 * @field: a motion field
 * @row: less than `rows`
 *
 * Returns: (nullable): the name of the device that searched the row of blocks @row; %NULL outside the
 *   grid and if the field has no @devices
 */
static inline const gchar *
gst_motion_vector_field_get_row_device (const GstMotionVectorField * field,
    guint row)
{
  if (field->row_devices == NULL || row >= field->rows)
    return NULL;
  return g_value_get_string (gst_value_array_get_value (field->devices,
          field->row_devices[row]));
}

G_END_DECLS

#endif /* GST_MOTION_VECTOR_H */
