/* Reads metas whose fields say anything with the inline functions of the header: each is refused, or every read stays inside
 * its memory. To be built with the address and undefined-behaviour sanitizers.
 *
 * usage: hostile_fields SEED COUNT */
#include <stdio.h>
#include <stdlib.h>

#include <gst/motion/gstmotionvector.h>

static guint64 state;

/* A number below `count`. */
static guint
below (guint count)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (guint) ((state >> 32) % count);
}

static guint
any_number (void)
{
  static const guint ends[] =
      { 0, 1, G_MAXINT, (guint) G_MAXINT + 1, G_MAXUINT - 1, G_MAXUINT };

  return below (3) == 0 ? ends[below (G_N_ELEMENTS (ends))] : below (70);
}

/* Memory of exactly `length` bytes, sometimes at an odd address, which the sanitizer guards on both sides. */
static GBytes *
make_bytes (gsize length)
{
  gsize odd = below (3) == 0 ? 1 : 0, i;
  guint8 *memory = malloc (odd + length);

  for (i = 0; i < odd + length; i++)
    memory[i] = (guint8) below (256);
  return g_bytes_new_with_free_func (memory + odd, length, free, memory);
}

/* Bytes of `count` records, but sometimes of more or fewer. */
static GBytes *
make_records (guint64 count, gsize size)
{
  guint64 right = MIN (count, 4096) * size;

  switch (below (8)) {
    case 0:
      return make_bytes (below (64));
    case 1:
      return make_bytes ((gsize) right + 1 + below (9));
    case 2:
      return make_bytes ((gsize) (right > 0 ? right - 1 : 0));
    default:
      return make_bytes ((gsize) right);
  }
}

/* Leaves a field out, gives it another type, or returns FALSE. */
static gboolean
spoil (GstStructure * structure, const gchar * name)
{
  switch (below (120)) {
    case 0:
      return TRUE;
    case 1:
      gst_structure_set (structure, name, G_TYPE_INT, 3, NULL);
      return TRUE;
    case 2:
      gst_structure_set (structure, name, G_TYPE_STRING, "text", NULL);
      return TRUE;
    case 3:
      gst_structure_set (structure, name, G_TYPE_BYTES, NULL, NULL);
      return TRUE;
    case 4:
      gst_structure_set (structure, name, G_TYPE_STRING, NULL, NULL);
      return TRUE;
    default:
      return FALSE;
  }
}

static void
set_number (GstStructure * structure, const gchar * name, guint value)
{
  if (!spoil (structure, name))
    gst_structure_set (structure, name, G_TYPE_UINT, value, NULL);
}

static void
set_bytes (GstStructure * structure, const gchar * name, GBytes * bytes)
{
  if (!spoil (structure, name))
    gst_structure_set (structure, name, G_TYPE_BYTES, bytes, NULL);
  g_bytes_unref (bytes);
}

static void
set_names (GstStructure * structure, const gchar * field, guint count)
{
  static const gchar *const texts[] = { "satd", "zero", "", "\xff\xfe", NULL };
  gboolean are_numbers = below (30) == 0;
  GValue array = G_VALUE_INIT;
  guint i;

  if (spoil (structure, field))
    return;
  g_value_init (&array, GST_TYPE_ARRAY);
  for (i = 0; i < count; i++) {
    GValue name = G_VALUE_INIT;

    g_value_init (&name, are_numbers ? G_TYPE_INT : G_TYPE_STRING);
    if (!are_numbers)
      g_value_set_string (&name,
          texts[below (below (10) == 0 ? G_N_ELEMENTS (texts) : 4)]);
    gst_value_array_append_and_take_value (&array, &name);
  }
  gst_structure_take_value (structure, field, &array);
}

static void
make_field (GstStructure * structure)
{
  guint width = below (20) == 0 ? any_number () : 1 + below (40);
  guint height = below (20) == 0 ? any_number () : 1 + below (40);
  guint across = below (8) == 0 ? any_number () : 1 + below (40);
  guint down = below (8) == 0 ? any_number () : 1 + below (40);
  guint columns = across == 0 || width == 0 ? 0 : (width - 1) / across + 1;
  guint rows = down == 0 || height == 0 ? 0 : (height - 1) / down + 1;
  guint64 blocks;

  columns = below (20) == 0 ? any_number () : columns;
  rows = below (20) == 0 ? any_number () : rows;
  blocks = (guint64) columns *rows;

  set_number (structure, "version", below (60) == 0 ? any_number () : 1);
  set_number (structure, "scale", below (10) == 0 ? any_number () : 4);
  set_number (structure, "width", width);
  set_number (structure, "height", height);
  set_number (structure, "block-width", across);
  set_number (structure, "block-height", down);
  set_number (structure, "columns", columns);
  set_number (structure, "rows", rows);
  if (!spoil (structure, "reference-offset"))
    gst_structure_set (structure, "reference-offset", G_TYPE_INT,
        below (4) == 0 ? (gint) any_number () : -1, NULL);
  if (!spoil (structure, "reference-pts"))
    gst_structure_set (structure, "reference-pts", G_TYPE_UINT64,
        (guint64) any_number (), NULL);
  if (!spoil (structure, "metric"))
    gst_structure_set (structure, "metric", G_TYPE_STRING,
        below (20) == 0 ? "" : below (2) == 0 ? "sad" : "ssd", NULL);
  set_bytes (structure, "vectors", make_records (blocks, 8));
  if (below (4) == 0)
    set_number (structure, "bit-depth", below (4) == 0 ? any_number () : 10);
  if (below (3) == 0)
    set_bytes (structure, "predictors", make_records (blocks, 4));
  if (below (3) == 0) {
    GBytes *indices = make_records (rows, 1);
    guint count = 1 + below (4);
    gsize length, i;
    guint8 *index = (guint8 *) g_bytes_get_data (indices, &length);

    for (i = 0; i < length; i++)
      index[i] = (guint8) below (below (200) == 0 ? 256 : count);
    set_names (structure, "devices", count);
    set_bytes (structure, "row-devices", indices);
  }
  if (below (3) == 0) {
    guint count = below (12) == 0 ? 0 : 1 + below (5);

    set_names (structure, "cost-names", count);
    set_bytes (structure, "costs", make_records (blocks * count, 4));
  }
  if (below (3) == 0 && !spoil (structure, "scene-cut"))
    gst_structure_set (structure, "scene-cut", G_TYPE_BOOLEAN, TRUE, NULL);
  if (below (3) == 0 && !spoil (structure, "duplicate"))
    gst_structure_set (structure, "duplicate", G_TYPE_BOOLEAN, TRUE, NULL);
}

/* Reads all that `field` holds, and beside it. Returns a sum, so that every read counts. */
static guint64
read_all (const GstMotionVectorField * field)
{
  static const guint far_away[] = { G_MAXINT, G_MAXUINT - 1, G_MAXUINT };
  gint satd = gst_motion_vector_field_find_cost (field, "satd");
  guint64 sum = (guint) gst_motion_vector_field_find_cost (field, "unknown");
  guint row, column, i;

  for (row = 0; row <= field->rows; row++) {
    const gchar *device = gst_motion_vector_field_get_row_device (field, row);

    sum += device == NULL ? 1 : strlen (device);
    for (column = 0; column <= field->columns; column++) {
      GstMotionVector vector =
          gst_motion_vector_field_get (field, column, row);
      GstMotionVectorPredictor predictor =
          gst_motion_vector_field_get_predictor (field, column, row);
      gfloat x, y;
      gint index;

      gst_motion_vector_field_get_samples (field, column, row, &x, &y);
      sum += (guint64) (vector.x + vector.y + predictor.x + predictor.y) +
          vector.cost + (x > y);
      for (index = -1; index < 7; index++)
        sum += gst_motion_vector_field_get_cost (field, index, column, row);
      sum += gst_motion_vector_field_get_cost (field, satd, column, row);
    }
  }
  for (i = 0; i < G_N_ELEMENTS (far_away); i++) {
    GstMotionVector vector =
        gst_motion_vector_field_get (field, far_away[i], far_away[i]);

    sum += vector.cost;
    sum += gst_motion_vector_field_get_cost (field, G_MAXINT, 0, far_away[i]);
    sum += gst_motion_vector_field_get_row_device (field, far_away[i]) != NULL;
    sum += (guint64) gst_motion_vector_field_get_predictor (field, far_away[i],
        0).x;
  }
  return sum;
}

int
main (int argc, char **argv)
{
  const gchar *tags[] = { NULL };
  guint64 sum = 0;
  guint accepted = 0, refused = 0, count, i;

  if (argc != 3) {
    fprintf (stderr, "usage: %s SEED COUNT\n", argv[0]);
    return 2;
  }
  gst_init (NULL, NULL);
  state = strtoull (argv[1], NULL, 10) * 2 + 1;
  count = (guint) strtoul (argv[2], NULL, 10);
  gst_meta_register_custom (GST_MOTION_VECTOR_META_NAME, tags, NULL, NULL,
      NULL);

  for (i = 0; i < count; i++) {
    GstBuffer *buffer = gst_buffer_new ();
    guint metas = 1 + below (3), n;
    GstMotionVectorField field;

    for (n = 0; n < metas; n++)
      make_field (gst_custom_meta_get_structure (gst_buffer_add_custom_meta
              (buffer, GST_MOTION_VECTOR_META_NAME)));
    for (n = 0; n <= metas; n++) {
      if (gst_motion_vector_field_read_nth (buffer, n, &field)) {
        accepted++;
        sum += read_all (&field);
      } else {
        refused += n < metas;
        /* All zero: nothing is there to read. */
        sum += read_all (&field);
      }
    }
    if (gst_motion_vector_field_read (buffer, &field))
      sum += field.width;
    if (gst_motion_vector_field_read_at (buffer, -1, &field))
      sum += read_all (&field);
    gst_buffer_unref (buffer);
  }
  printf ("accepted %u refused %u sum %" G_GUINT64_FORMAT "\n", accepted,
      refused, sum);
  return 0;
}
