/* Runs the pipeline given as argument, which ends in a fakesink named "sink" with
 * signal-handoffs=true, and prints for every buffer its timestamp and, for each motion field
 * what the field says and every vector, with its predictor if there are any, and before each row of
 * blocks the device that found it, if that is said. */
#include <stdio.h>

#include <gst/motion/gstmotionvector.h>

static void
print_costs (const GstMotionVectorField * field, guint column, guint row)
{
  guint i, names =
      field->cost_names == NULL ? 0 : gst_value_array_get_size (field->cost_names);

  for (i = 0; i < names; i++) {
    const gchar *name =
        g_value_get_string (gst_value_array_get_value (field->cost_names, i));
    gint index = gst_motion_vector_field_find_cost (field, name);

    printf (" %s %u", name,
        gst_motion_vector_field_get_cost (field, index, column, row));
  }
  if (gst_motion_vector_field_find_cost (field, "unknown") != -1
      || gst_motion_vector_field_get_cost (field, -1, column, row) != 0
      || gst_motion_vector_field_get_cost (field, 99, column, row) != 0
      || gst_motion_vector_field_get_cost (field, 0, field->columns, 0) != 0)
    printf (" a cost that is not there");
}

static void
print_fields (GstElement * sink, GstBuffer * buffer, GstPad * pad,
    gpointer user_data)
{
  GstMotionVectorField field, first, same;
  guint n, column, row;

  (void) sink;
  (void) pad;
  (void) user_data;
  printf ("frame %" G_GUINT64_FORMAT "\n", GST_BUFFER_PTS (buffer));
  for (n = 0; gst_motion_vector_field_read_nth (buffer, n, &field); n++) {
    if (!gst_motion_vector_field_read (buffer, &first)
        || !gst_motion_vector_field_read_at (buffer, first.reference_offset, &same)
        || same.vectors != first.vectors
        || !gst_motion_vector_field_read_at (buffer, field.reference_offset, &same)
        || same.vectors != field.vectors
        || gst_motion_vector_field_read_at (buffer, 99, &same))
      printf ("another field\n");
    printf ("field %u %u %u %u %u %u %u %d %" G_GUINT64_FORMAT " %s\n",
        field.width, field.height, field.block_width, field.block_height,
        field.columns, field.rows, field.scale, field.reference_offset,
        field.reference_pts, field.metric);
    if (field.scene_cut || field.duplicate)
      printf ("cut %d duplicate %d\n", field.scene_cut, field.duplicate);
    for (row = 0; row < field.rows; row++) {
      const gchar *device = gst_motion_vector_field_get_row_device (&field, row);

      if (device != NULL)
        printf ("by %s\n", device);
      for (column = 0; column < field.columns; column++) {
        GstMotionVector vector =
            gst_motion_vector_field_get (&field, column, row);
        GstMotionVectorPredictor predictor =
            gst_motion_vector_field_get_predictor (&field, column, row);
        gfloat x, y;

        gst_motion_vector_field_get_samples (&field, column, row, &x, &y);
        printf ("%d %d %u %.5f %.5f", vector.x, vector.y, vector.cost, x, y);
        if (field.predictors != NULL)
          printf (" %d %d", predictor.x, predictor.y);
        print_costs (&field, column, row);
        printf ("\n");
      }
    }
  }
}

int
main (int argc, char **argv)
{
  GError *error = NULL;
  GstElement *pipeline, *sink;
  GstMessage *message;
  gboolean ended;

  gst_init (&argc, &argv);
  if (argc != 2) {
    fprintf (stderr, "usage: %s PIPELINE\n", argv[0]);
    return 2;
  }
  pipeline = gst_parse_launch (argv[1], &error);
  if (error != NULL) {
    fprintf (stderr, "%s\n", error->message);
    return 1;
  }
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  if (sink == NULL) {
    fprintf (stderr, "no element named \"sink\"\n");
    return 1;
  }
  g_signal_connect (sink, "handoff", G_CALLBACK (print_fields), NULL);
  gst_object_unref (sink);

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (GST_ELEMENT_BUS (pipeline),
      GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  ended = message != NULL && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
  if (message != NULL)
    gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  return ended ? 0 : 1;
}
