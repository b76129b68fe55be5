/* Reads a file in the packed binary format with the inline functions of the header, and prints what each record says and
 * every vector with its costs.
 *
 * usage: read_packed FILE
 *        read_packed FILE SEED COUNT     reads COUNT copies of the file, changed or cut off at random, and prints how many
 *                                        were read to their end. To be built with sanitizers */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gst/motion/gstmotionpacked.h>

static uint64_t state;

/* A number below `count`. */
static size_t
below (size_t count)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (size_t) (state >> 32) % count;
}

/* The sum of all that the file says, so that every read is made; printed if `out` is given. */
static uint64_t
read_all (GstMotionPackedReader * reader, FILE * out)
{
  static const char *names[] = { "zero", "intra", "satd", "second", "variance" };
  GstMotionPackedRecord record;
  uint64_t sum = 0;
  uint32_t row, column;
  size_t i;

  while (gst_motion_packed_reader_next (reader, &record)) {
    if (out != NULL)
      fprintf (out, "frame %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
          " %s %u %u %u %u %u %u %d %u\n", record.frame, record.pts,
          record.duration, record.reference_pts,
          record.metric == 0 ? "sad" : "ssd", record.width, record.height,
          record.block_width, record.block_height, record.columns, record.rows,
          record.reference_offset, record.scale);
    for (row = 0; row < record.rows; row++) {
      for (column = 0; column < record.columns; column++) {
        GstMotionPackedVector vector =
            gst_motion_packed_record_get (&record, column, row);

        sum += (uint64_t) (vector.x + vector.y) + vector.cost;
        if (out != NULL)
          fprintf (out, "%d %d %u", vector.x, vector.y, vector.cost);
        for (i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
          int index = gst_motion_packed_record_find_cost (&record, names[i]);
          uint32_t cost =
              gst_motion_packed_record_get_cost (&record, index, column, row);

          sum += cost;
          if (out != NULL && index >= 0)
            fprintf (out, " %s %u", names[i], cost);
        }
        if (out != NULL)
          fprintf (out, "\n");
      }
    }
    if (gst_motion_packed_record_get (&record, record.columns, 0).cost != 0
        || gst_motion_packed_record_get_cost (&record, 0, 0, record.rows) != 0
        || gst_motion_packed_record_find_cost (&record, "zer") != -1)
      printf ("something that is not there\n");
  }
  return sum;
}

/* Copies, in memory of just their size. */
static void
read_changed (const uint8_t * file, size_t size, unsigned count)
{
  GstMotionPackedReader reader;
  unsigned whole = 0, i;
  uint64_t sum = 0;

  for (i = 0; i < count; i++) {
    size_t length = below (4) == 0 ? below (size + 1) : size, changes = below (4);
    uint8_t *copy = malloc (length > 0 ? length : 1);

    if (copy == NULL)
      exit (1);
    memcpy (copy, file, length);
    for (; changes > 0 && length > 0; changes--)
      copy[below (below (2) == 0 && length > 200 ? 200 : length)] =
          (uint8_t) (below (2) == 0 ? 255 : below (256));
    if (gst_motion_packed_reader_init (&reader, copy, length)) {
      sum += read_all (&reader, NULL);
      whole += reader.size == 0;
    }
    free (copy);
  }
  printf ("whole %u of %u\n", whole, count);
  /* The sum is used, so that nothing is left out. */
  fprintf (stderr, "%" PRIu64 "\n", sum);
}

int
main (int argc, char **argv)
{
  static uint8_t file[1 << 20];
  GstMotionPackedReader reader;
  size_t size;
  FILE *input = argc == 2 || argc == 4 ? fopen (argv[1], "rb") : NULL;

  if (input == NULL) {
    fprintf (stderr, "usage: %s FILE [SEED COUNT]\n", argv[0]);
    return 2;
  }
  size = fread (file, 1, sizeof (file), input);
  fclose (input);
  if (argc == 4) {
    state = strtoull (argv[2], NULL, 10);
    read_changed (file, size, (unsigned) strtoul (argv[3], NULL, 10));
    return 0;
  }
  if (!gst_motion_packed_reader_init (&reader, file, size))
    printf ("no file of packed vectors\n");
  read_all (&reader, stdout);
  if (reader.size != 0)
    printf ("damaged\n");
  return 0;
}
