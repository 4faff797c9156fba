/* row_store: exact rows of tables that do not fit in memory.
 *
 * A table has two tensors in one checkpoint file: 256 bytes of weights and 8 bytes of block scales
 * a row. A lookup hands in row ids and two output buffers and gets back, for every id, the 264
 * bytes that the checkpoint holds. A bounded row cache, a packed shard or rows in memory change
 * only how fast that happens. Not a key-value store: tables are immutable while they are open.
 *
 *     row_store_t* s = row_store_open("model-00047.safetensors", rows, w_at, s_at, budget);
 *     if (!s) { char why[512]; row_store_last_error(why, sizeof why); puts(why); return 1; }
 *     row_store_range(s, lo, hi);                                  // the rows this rank owns
 *     row_store_attach_packed(s, "engram-l1-r0of4.bin", 1);        // optional, faster misses
 *     row_store_work work = {s, ids, weights, scales, count};
 *     row_store_lookup(&work);                                     // outputs hold count rows
 *     row_store_close(s);
 *
 * Lifecycle   open -> range -> [attach_packed] -> lookup, stats (any number) -> close. Without a
 *             range the store owns the whole table.
 * Units       Offsets, budgets and sizes are bytes; ids and ranges are rows, half-open [lo, hi).
 *             Files and outputs are little-endian.
 * Errors      open and attach_packed return NULL or 0, print one line on stderr, set errno and keep
 *             the text for row_store_last_error. Calls that cannot fail softly (they run where no
 *             error could be seen) print one line that starts "Engram retrieval failed:" and abort:
 *             a generation must never go on with missing rows.
 * Ownership   The store copies paths. ids and outputs are the caller's and must stay valid until
 *             the lookup returns; the store never keeps pointers to them.
 * Threads     Every function may be called from any thread. Lookups and stats run side by side, on
 *             one store or several. range, attach_packed and close wait for the store's running
 *             lookups and hold up later ones. Lookups make no CUDA call and may run as CUDA host
 *             functions; their thread needs 64 KiB of stack.
 * Process     fork waits for running lookups; in the child every store still serves exact rows, but
 *             reads each one from its file (cache, resident scales and rows in memory stay with the
 *             parent). dlclose keeps the library loaded. At exit nothing is torn down.
 * Environment OFFLOAD_MODE and DSV41_*: docs/settings.md lists each with unit and default.
 * Stability   The ABI only grows, by new functions; what is here keeps its meaning.
 */
#ifndef ROW_STORE_H
#define ROW_STORE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ROW_STORE_API __attribute__((visibility("default")))
#else
#define ROW_STORE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ROW_STORE_WEIGHT_BYTES 256 /* of a row, FP8 E4M3 */
#define ROW_STORE_SCALE_BYTES 8    /* of a row, E8M0 */
#define ROW_STORE_ROW_BYTES 264

typedef struct row_store_handle row_store_t;

/* One lookup. 40 bytes, no padding; the caller's, read only by row_store_lookup. */
typedef struct row_store_work {
  row_store_t* store; /* in: from row_store_open */
  const int64_t* ids; /* in: count global row ids */
  uint8_t* weights;   /* out: row i at weights + 256 * i */
  uint8_t* scales;    /* out: row i at scales + 8 * i */
  uint64_t count;     /* in: rows; 0 is allowed and touches nothing */
} row_store_work;

#if defined(__cplusplus)
static_assert(sizeof(row_store_work) == 40, "the layout is part of the ABI");
static_assert(offsetof(row_store_work, count) == 32, "the layout is part of the ABI");
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(row_store_work) == 40, "the layout is part of the ABI");
_Static_assert(offsetof(row_store_work, count) == 32, "the layout is part of the ABI");
#else
typedef char row_store_work_is_40_bytes[sizeof(row_store_work) == 40 ? 1 : -1];
#endif

/* Words of row_store_stats. The caller's array holds exactly ROW_STORE_STAT_COUNT. */
enum {
  ROW_STORE_STAT_HITS = 0,        /* rows served without a read of their own */
  ROW_STORE_STAT_MISSES = 1,      /* rows that needed a read; hits + misses = rows in the range */
  ROW_STORE_STAT_READS = 2,       /* read requests sent to files */
  ROW_STORE_STAT_CACHE_BYTES = 3, /* reserved for the row cache: slots and their index */
  ROW_STORE_STAT_SLOTS = 4,       /* rows that the cache can hold */
  ROW_STORE_STAT_SCALE_BYTES = 5, /* scales kept, or being loaded, in memory */
  ROW_STORE_STAT_WAYS = 6,        /* of the cache, also when there is none */
  ROW_STORE_STAT_THREADS = 7,     /* most threads a lookup may use, its caller included */
  ROW_STORE_STAT_PACKED = 8,      /* 1 while a packed shard is attached */
  ROW_STORE_STAT_COUNT = 9
};

/* Opens a table.
 * Parameters  path: of the safetensors file (or a raw file that holds the extents); rows: of the
 *             whole table, at least 1; weight_offset, scale_offset: of the tensors' first byte in
 *             the file; cache_budget_bytes: upper bound for the row cache with its index, 0 for
 *             none.
 * Returns     A store that owns all rows, or NULL.
 * On failure  NULL for anything wrong with the file, the extents, the tensors or the budget; one
 *             line on stderr, errno, row_store_last_error. Nothing is kept.
 * Threads     Any. Blocks for a few small reads; never on a FIFO.
 * Cost        Reads the safetensors header and a few rows. Cache memory is reserved, not touched.
 */
ROW_STORE_API row_store_t* row_store_open(const char* path, uint64_t rows, uint64_t weight_offset,
                                          uint64_t scale_offset, uint64_t cache_budget_bytes);

/* Sets the rows that this store owns; ids outside [lo, hi) give zero rows.
 * Parameters  lo <= hi <= rows; lo == hi is legal.
 * On failure  Aborts for another order or bound, and when a different range is asked for while
 *             scales or rows are in memory or a shard is attached: they belong to the first one.
 * Threads     Waits for running lookups.
 * Cost        Starts loading the range's scales in the background (8 bytes a row) unless
 *             DSV41_RESIDENT_SCALES is off. OFFLOAD_MODE=ram loads the range's rows before
 *             returning. */
ROW_STORE_API void row_store_range(row_store_t* store, uint64_t lo, uint64_t hi);

/* Serves misses from a packed shard: one read a row, and the scales' memory is given back.
 * Parameters  path: of the shard; layer: that its header must name.
 * Returns     1 when the shard serves from now on; 0 when it does not.
 * On failure  0, one line that lists every field expected and found, and the store is as it was,
 *             also when a shard is attached already (it stays). With DSV41_STRICT=1 failure aborts.
 * Threads     Waits for running lookups. */
ROW_STORE_API int row_store_attach_packed(row_store_t* store, const char* path, uint64_t layer);

/* Fills a batch. work is a row_store_work*; the type is that of a CUDA host function.
 * Outputs     Dense, every byte written, in the order of ids. Repeated ids are read once. An id in
 *             the table but outside the owned range gives zeros and counts nowhere.
 * On failure  Aborts: NULL pointers with count > 0, a count whose outputs exceed the address
 *             space, an id outside the table (before any output is written;
 *             DSV41_NEGATIVE_IDS=zero gives zero rows for negative ids instead), a row that cannot
 *             be read.
 * Threads     Any, side by side. No allocation. May block for reads; never spins. */
ROW_STORE_API void row_store_lookup(void* work);

/* Copies the nine counters above, cumulative since open, into out[0..8].
 * Threads     Any; beside lookups each word is exact, the nine are not one instant. */
ROW_STORE_API void row_store_stats(row_store_t* store, uint64_t* out);

/* How a file is read and what serves it; values of the fields below. */
enum {
  ROW_STORE_ENGINE_NONE = 0, /* no such file */
  ROW_STORE_ENGINE_URING = 1,
  ROW_STORE_ENGINE_AIO = 2,
  ROW_STORE_ENGINE_THREADS = 3
};
enum {
  ROW_STORE_ACCESS_NONE = 0,
  ROW_STORE_ACCESS_DIRECT = 1,  /* O_DIRECT */
  ROW_STORE_ACCESS_BUFFERED = 2 /* through the page cache, pages given back */
};
enum {
  ROW_STORE_CACHE_NONE = 0,
  ROW_STORE_CACHE_MEMORY = 1,
  ROW_STORE_CACHE_DRM = 2 /* rows in a DRM dumb buffer */
};

/* Times of whole lookups, in nanoseconds; percentiles are rounded up by at most 12.5 %. */
typedef struct row_store_latency {
  uint64_t lookups;
  uint64_t p50_ns;
  uint64_t p90_ns;
  uint64_t p99_ns;
  uint64_t p999_ns;
  uint64_t max_ns;
} row_store_latency;

/* Lookups by their number of ids: below 64, below 1,024, below 16,384, and larger. */
#define ROW_STORE_SIZE_CLASSES 4

/* Counters are cumulative since open. Fields are only ever added at the end. */
typedef struct row_store_statistics {
  uint64_t struct_bytes; /* in: sizeof of the caller's struct; out: bytes that were filled */
  uint64_t lookups;
  uint64_t rows;        /* ids asked for: hits + misses + zero_rows */
  uint64_t unique_rows; /* rows less repeats of a missing id within its batch */
  uint64_t zero_rows;   /* outside the owned range */
  uint64_t hits;
  uint64_t misses;
  uint64_t evictions;
  uint64_t reads;
  uint64_t read_bytes;
  uint64_t retries;         /* reads done again after a short or failed one */
  uint64_t demotions;       /* times an engine stopped working and threads took over */
  uint64_t packed_failures; /* rows of the packed shard that the checkpoint gave instead */
  uint64_t lookup_ns;       /* spent in lookups */
  uint64_t wait_ns;         /* of these, waiting for reads */
  uint64_t cache_slots;
  uint64_t cache_bytes;
  uint64_t cache_backing;  /* ROW_STORE_CACHE_* */
  uint64_t resident_bytes; /* rows in memory (OFFLOAD_MODE=ram) */
  uint64_t scale_bytes;
  uint64_t checkpoint_engine; /* ROW_STORE_ENGINE_* */
  uint64_t checkpoint_access; /* ROW_STORE_ACCESS_* */
  uint64_t packed_engine;
  uint64_t packed_access;
  row_store_latency latency[ROW_STORE_SIZE_CLASSES];
  uint64_t sum_failures;   /* of packed_failures, rows whose block failed its sum */
  uint64_t sum_bytes;      /* memory that the packed shard's sums take; 0: it has none */
  uint64_t packed_dropped; /* 1 when the shard failed so often that it is not read any more */
} row_store_statistics;

/* Fills what the caller's struct has room for.
 * Parameters  out->struct_bytes: sizeof(row_store_statistics) as the caller was compiled; a newer
 *             caller's extra fields stay as they were.
 * Returns     1, or 0 when struct_bytes is below 16 (nothing is written).
 * Threads     As row_store_stats. Reads the counters, a few microseconds. */
ROW_STORE_API int row_store_extended_stats(row_store_t* store, row_store_statistics* out);

/* Ends the store and frees all it holds; waits for running lookups. NULL is a no-op. Any later use
 * of the handle aborts with a line that says so. */
ROW_STORE_API void row_store_close(row_store_t* store);

/* The calling thread's last failure of open, range or attach_packed.
 * Parameters  text: where up to bytes - 1 characters and a NUL go; may be NULL with bytes 0.
 * Returns     A stable code, 0 for none (row_store_error_name names it). Cleared by the next
 *             such call. */
ROW_STORE_API int row_store_last_error(char* text, size_t bytes);

/* Static name of a code, "unknown" for others. Never NULL. */
ROW_STORE_API const char* row_store_error_name(int code);

#ifdef DSV41_ROW_STORE_DRM
/* Only in builds with -DDSV41_ROW_STORE_DRM; its presence marks them.
 * Remembers that the next open with a cache should keep its rows in a dumb buffer of `bytes` bytes
 * (a multiple of 16 MiB) of the DRM device `node`. Used up by that open even when it falls back to
 * ordinary memory. Does no I/O. */
ROW_STORE_API void row_store_next_cache_on_drm(const char* node, uint64_t bytes);
#endif

#ifdef __cplusplus
}
#endif

#endif /* ROW_STORE_H */
