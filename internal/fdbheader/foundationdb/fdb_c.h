// SPDX-License-Identifier: Apache-2.0

// Declarations of what kv/fdbkv and the official Go binding use of
// FoundationDB's C client, API version 730: enough to compile them where
// the client is not installed (make lint), and for nothing else. The header
// that programs are built with is the client's own; kv/fdbkv's
// TestDeclarationsAgree compares the two where it is there.
#ifndef KAZAHANA_FDB_C_H
#define KAZAHANA_FDB_C_H

#if FDB_API_VERSION != 730
#error these are the declarations of API version 730
#endif

#include <stdint.h>

typedef int fdb_error_t;
typedef int fdb_bool_t;

typedef struct FDB_future FDBFuture;
typedef struct FDB_database FDBDatabase;
typedef struct FDB_tenant FDBTenant;
typedef struct FDB_transaction FDBTransaction;

typedef void (*FDBCallback)(FDBFuture*, void*);

#pragma pack(push, 4)
typedef struct key {
	const uint8_t* key;
	int key_length;
} FDBKey;
typedef struct keyvalue {
	const uint8_t* key;
	int key_length;
	const uint8_t* value;
	int value_length;
} FDBKeyValue;
#pragma pack(pop)

// Options are given by number.
typedef enum { KZ_NETWORK_OPTIONS = 1 } FDBNetworkOption;
typedef enum { KZ_DATABASE_OPTIONS = 1 } FDBDatabaseOption;
typedef enum { KZ_TRANSACTION_OPTIONS = 1 } FDBTransactionOption;
typedef enum { KZ_MUTATION_TYPES = 1 } FDBMutationType;

typedef enum {
	FDB_STREAMING_MODE_WANT_ALL = -2,
	FDB_STREAMING_MODE_ITERATOR = -1,
	FDB_STREAMING_MODE_EXACT = 0,
	FDB_STREAMING_MODE_SMALL = 1,
	FDB_STREAMING_MODE_MEDIUM = 2,
	FDB_STREAMING_MODE_LARGE = 3,
	FDB_STREAMING_MODE_SERIAL = 4
} FDBStreamingMode;

typedef enum { FDB_CONFLICT_RANGE_TYPE_READ = 0, FDB_CONFLICT_RANGE_TYPE_WRITE = 1 } FDBConflictRangeType;

#include "../functions.h"

#endif
