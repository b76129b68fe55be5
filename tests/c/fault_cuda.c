/* CUDA's driver with a fault: built as libcuda.so.1 over the installed driver, whose path is DRIVER. It has the functions
 * that can have the fault; the dynamic linker finds all others in the driver, on which it depends.
 *
 * The fault is "KIND FUNCTION NUMBER [CODE]" in the environment variable CUDA_FAULT: call NUMBER, from 0, of FUNCTION. Kinds:
 *   lose   this call and all later ones return CODE, or 999 (unknown error), and nothing is done
 *   break  before this call a kernel writes to an address that is nobody's: the context, shared by all of the process, does
 *          not survive that */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;

static const char PTX[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry wrong() { .reg .b64 %a; .reg .b32 %v; mov.u64 %a, 16; mov.u32 %v, 1; st.global.u32 [%a], %v; ret; }\n";

static char kind[16], function[64];
static long number;
static int code = 999;
static void *driver;

__attribute__ ((constructor)) static void
read_fault (void)
{
  const char *fault = getenv ("CUDA_FAULT");

  driver = dlopen (DRIVER, RTLD_NOW);
  if (driver == NULL || fault == NULL || sscanf (fault, "%15s %63s %ld %d", kind, function, &number, &code) < 3) {
    fprintf (stderr, "CUDA_FAULT=%s is wrong, or the driver is not at %s\n", fault ? fault : "", DRIVER);
    abort ();
  }
}

static void *
of_driver (const char *name)
{
  void *found = dlsym (driver, name);

  if (found == NULL) {
    fprintf (stderr, "the driver has no %s\n", name);
    abort ();
  }
  return found;
}

static void
break_context (void)
{
  Result (*load) (void **, const void *) = (Result (*) (void **, const void *)) of_driver ("cuModuleLoadData");
  Result (*find) (void **, void *, const char *) =
      (Result (*) (void **, void *, const char *)) of_driver ("cuModuleGetFunction");
  Result (*launch) (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) =
      (Result (*) (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))
      of_driver ("cuLaunchKernel");
  Result (*finish) (void) = (Result (*) (void)) of_driver ("cuCtxSynchronize");
  void *module, *kernel;

  if (load (&module, PTX) != 0 || find (&kernel, module, "wrong") != 0
      || launch (kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != 0 || finish () == 0) {
    fprintf (stderr, "the context is not broken\n");
    abort ();
  }
}

/* Counts a call of the function. Returns whether it fails. */
static int
fails (const char *name)
{
  static atomic_long calls;
  long call;

  if (strcmp (name, function) != 0)
    return 0;
  call = atomic_fetch_add (&calls, 1);
  if (strcmp (kind, "break") == 0 && call == number)
    break_context ();
  return strcmp (kind, "lose") == 0 && call >= number;
}

#define CALL(name, parameters, arguments)                                       \
  Result name parameters                                                        \
  {                                                                             \
    Result (*real) parameters = (Result (*) parameters) of_driver (#name);      \
    return fails (#name) ? code : real arguments;                               \
  }

CALL (cuDevicePrimaryCtxRetain, (void **context, int device), (context, device))
CALL (cuModuleLoadData, (void **module, const void *image), (module, image))
CALL (cuMemAlloc_v2, (uint64_t *address, size_t bytes), (address, bytes))
CALL (cuMemcpy2DAsync_v2, (const void *copy, void *stream), (copy, stream))
CALL (cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, void *stream), (to, from, bytes, stream))
CALL (cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream), (to, from, bytes, stream))
CALL (cuGraphLaunch, (void *graph, void *stream), (graph, stream))
CALL (cuEventQuery, (void *event), (event))
CALL (cuLaunchKernel,
    (void *kernel, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned items_x, unsigned items_y,
     unsigned items_z, unsigned local, void *stream, void **arguments, void **extra),
    (kernel, groups_x, groups_y, groups_z, items_x, items_y, items_z, local, stream, arguments, extra))
