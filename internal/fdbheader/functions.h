// SPDX-License-Identifier: Apache-2.0

// The functions of FoundationDB's C client that are used, and the numbers and
// sizes that are relied on. It is compiled after either header.

#define KZ_BYTES(name) uint8_t const *name, int name##_length
#define KZ_SELECTOR(name) KZ_BYTES(name), fdb_bool_t name##_or_equal, int name##_offset

_Static_assert(sizeof(FDBKey) == 12 && sizeof(FDBKeyValue) == 24, "layout of keys and pairs");
_Static_assert(FDB_STREAMING_MODE_WANT_ALL == -2 && FDB_STREAMING_MODE_ITERATOR == -1 && FDB_STREAMING_MODE_EXACT == 0, "streaming modes");
_Static_assert(FDB_STREAMING_MODE_SMALL == 1 && FDB_STREAMING_MODE_MEDIUM == 2 && FDB_STREAMING_MODE_LARGE == 3 && FDB_STREAMING_MODE_SERIAL == 4, "streaming modes");
_Static_assert(FDB_CONFLICT_RANGE_TYPE_READ == 0 && FDB_CONFLICT_RANGE_TYPE_WRITE == 1, "kinds of conflict ranges");

// The process.
int fdb_get_max_api_version(void);
fdb_error_t fdb_select_api_version_impl(int runtime_version, int header_version);
const char *fdb_get_error(fdb_error_t code);
fdb_error_t fdb_network_set_option(FDBNetworkOption option, KZ_BYTES(value));
fdb_error_t fdb_setup_network(void);
fdb_error_t fdb_run_network(void);
fdb_error_t fdb_stop_network(void);

// Futures.
fdb_bool_t fdb_future_is_ready(FDBFuture *f);
fdb_error_t fdb_future_set_callback(FDBFuture *f, FDBCallback callback, void *parameter);
void fdb_future_cancel(FDBFuture *f);
void fdb_future_release_memory(FDBFuture *f);
void fdb_future_destroy(FDBFuture *f);
fdb_error_t fdb_future_get_error(FDBFuture *f);
fdb_error_t fdb_future_get_int64(FDBFuture *f, int64_t *out);
fdb_error_t fdb_future_get_key(FDBFuture *f, uint8_t const **key, int *key_length);
fdb_error_t fdb_future_get_value(FDBFuture *f, fdb_bool_t *present, uint8_t const **value, int *value_length);
fdb_error_t fdb_future_get_key_array(FDBFuture *f, FDBKey const **keys, int *count);
fdb_error_t fdb_future_get_keyvalue_array(FDBFuture *f, FDBKeyValue const **pairs, int *count, fdb_bool_t *more);
fdb_error_t fdb_future_get_string_array(FDBFuture *f, const char ***strings, int *count);

// Databases and tenants.
fdb_error_t fdb_create_database(const char *cluster_file, FDBDatabase **out);
fdb_error_t fdb_create_database_from_connection_string(const char *connection, FDBDatabase **out);
void fdb_database_destroy(FDBDatabase *d);
fdb_error_t fdb_database_set_option(FDBDatabase *d, FDBDatabaseOption option, KZ_BYTES(value));
fdb_error_t fdb_database_create_transaction(FDBDatabase *d, FDBTransaction **out);
FDBFuture *fdb_database_get_client_status(FDBDatabase *d);
FDBFuture *fdb_database_reboot_worker(FDBDatabase *d, KZ_BYTES(address), fdb_bool_t check, int duration);
fdb_error_t fdb_database_open_tenant(FDBDatabase *d, KZ_BYTES(name), FDBTenant **out);
fdb_error_t fdb_tenant_create_transaction(FDBTenant *tenant, FDBTransaction **out);
void fdb_tenant_destroy(FDBTenant *tenant);

// Transactions: their life.
fdb_error_t fdb_transaction_set_option(FDBTransaction *tr, FDBTransactionOption option, KZ_BYTES(value));
void fdb_transaction_set_read_version(FDBTransaction *tr, int64_t version);
FDBFuture *fdb_transaction_get_read_version(FDBTransaction *tr);
FDBFuture *fdb_transaction_get_approximate_size(FDBTransaction *tr);
FDBFuture *fdb_transaction_get_versionstamp(FDBTransaction *tr);
fdb_error_t fdb_transaction_get_committed_version(FDBTransaction *tr, int64_t *out);
FDBFuture *fdb_transaction_commit(FDBTransaction *tr);
FDBFuture *fdb_transaction_on_error(FDBTransaction *tr, fdb_error_t error);
void fdb_transaction_reset(FDBTransaction *tr);
void fdb_transaction_cancel(FDBTransaction *tr);
void fdb_transaction_destroy(FDBTransaction *tr);

// Transactions: reads and writes.
FDBFuture *fdb_transaction_get(FDBTransaction *tr, KZ_BYTES(key), fdb_bool_t snapshot);
FDBFuture *fdb_transaction_get_key(FDBTransaction *tr, KZ_SELECTOR(key), fdb_bool_t snapshot);
FDBFuture *fdb_transaction_get_range(FDBTransaction *tr, KZ_SELECTOR(begin), KZ_SELECTOR(end), int limit, int target_bytes,
                                     FDBStreamingMode mode, int iteration, fdb_bool_t snapshot, fdb_bool_t reverse);
FDBFuture *fdb_transaction_get_addresses_for_key(FDBTransaction *tr, KZ_BYTES(key));
FDBFuture *fdb_transaction_get_estimated_range_size_bytes(FDBTransaction *tr, KZ_BYTES(begin), KZ_BYTES(end));
FDBFuture *fdb_transaction_get_range_split_points(FDBTransaction *tr, KZ_BYTES(begin), KZ_BYTES(end), int64_t chunk);
FDBFuture *fdb_transaction_watch(FDBTransaction *tr, KZ_BYTES(key));
void fdb_transaction_set(FDBTransaction *tr, KZ_BYTES(key), KZ_BYTES(value));
void fdb_transaction_clear(FDBTransaction *tr, KZ_BYTES(key));
void fdb_transaction_clear_range(FDBTransaction *tr, KZ_BYTES(begin), KZ_BYTES(end));
void fdb_transaction_atomic_op(FDBTransaction *tr, KZ_BYTES(key), KZ_BYTES(operand), FDBMutationType op);
fdb_error_t fdb_transaction_add_conflict_range(FDBTransaction *tr, KZ_BYTES(begin), KZ_BYTES(end), FDBConflictRangeType kind);
