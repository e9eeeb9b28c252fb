// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

/*
#cgo LDFLAGS: -lfdb_c
#cgo darwin CFLAGS: -I/usr/local/include
#cgo darwin LDFLAGS: -L/usr/local/lib -Wl,-rpath,/usr/local/lib
#cgo noescape kz_take_pairs

#define FDB_API_VERSION 730
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <foundationdb/fdb_c.h>

typedef struct {
	fdb_error_t error;
	FDBDatabase* database;
} kz_opened;

static kz_opened kz_open(const char* cluster_file) {
	kz_opened o = {0};
	o.error = fdb_create_database(cluster_file, &o.database);
	return o;
}

typedef struct {
	fdb_error_t error;
	FDBTransaction* transaction;
} kz_begun;

static kz_begun kz_begin(FDBDatabase* d) {
	kz_begun b = {0};
	b.error = fdb_database_create_transaction(d, &b.transaction);
	return b;
}

typedef struct {
	fdb_error_t error;
	int present;
	const uint8_t* bytes;
	int length;
} kz_bytes;

static kz_bytes kz_value(FDBFuture* f) {
	kz_bytes b = {0};
	fdb_bool_t present = 0;
	b.error = fdb_future_get_value(f, &present, &b.bytes, &b.length);
	b.present = present;
	return b;
}

static kz_bytes kz_key(FDBFuture* f) {
	kz_bytes b = {0};
	b.error = fdb_future_get_key(f, &b.bytes, &b.length);
	return b;
}

typedef struct {
	fdb_error_t error;
	const FDBKey* first;
	int count;
} kz_keys;

static kz_keys kz_key_array(FDBFuture* f) {
	kz_keys k = {0};
	k.error = fdb_future_get_key_array(f, &k.first, &k.count);
	return k;
}

// kz_key_at is here because Go cannot lay out structures without padding.
static kz_bytes kz_key_at(const FDBKey* first, int i) {
	kz_bytes b = {0};
	b.bytes = first[i].key;
	b.length = first[i].key_length;
	return b;
}

typedef struct {
	fdb_error_t error;
	int64_t n;
} kz_number;

static kz_number kz_int64(FDBFuture* f) {
	kz_number n = {0};
	n.error = fdb_future_get_int64(f, &n.n);
	return n;
}

typedef struct {
	fdb_error_t error;
	int more;
	const FDBKeyValue* first;
	int count;
	int64_t size; // bytes of all keys and values
} kz_pairs;

static kz_pairs kz_range(FDBFuture* f) {
	kz_pairs p = {0};
	fdb_bool_t more = 0;
	p.error = fdb_future_get_keyvalue_array(f, &p.first, &p.count, &more);
	if (p.error) {
		return p;
	}
	p.more = more;
	for (int i = 0; i < p.count; i++) {
		p.size += p.first[i].key_length + p.first[i].value_length;
	}
	return p;
}

// kz_take_pairs copies keys and values, one after another, and their lengths.
static void kz_take_pairs(const FDBKeyValue* first, int count, uint8_t* bytes, int32_t* lengths) {
	for (int i = 0; i < count; i++) {
		const FDBKeyValue* kv = &first[i];
		memcpy(bytes, kv->key, kv->key_length);
		bytes += kv->key_length;
		memcpy(bytes, kv->value, kv->value_length);
		bytes += kv->value_length;
		lengths[2 * i] = kv->key_length;
		lengths[2 * i + 1] = kv->value_length;
	}
}
*/
import "C"

import (
	"unsafe"

	"github.com/kazahana-db/kazahana/kv"
)

// This file, handle.go and future.go hold all calls of the C client. Of the official
// binding the package needs the network thread, which a process has once, and the
// types of Wrap and Unwrap. It has databases and transactions of its own: those of
// the binding are freed when Go's collector gets to them, and it does not see how
// much memory of the client they hold; only a blocked goroutine can wait for the
// binding's futures; and its ranges do not show their batches.

type (
	cDatabase    = C.FDBDatabase
	cFuture      = C.FDBFuture
	cTransaction = C.FDBTransaction
	cCode        = C.fdb_error_t
)

// openDatabase opens the database of a cluster file.
func openDatabase(clusterFile string) (*cDatabase, cCode) {
	name := C.CString(clusterFile)
	defer C.free(unsafe.Pointer(name))
	o := C.kz_open(name)
	return o.database, o.error
}

func destroyDatabase(d *cDatabase) { C.fdb_database_destroy(d) }

func setDatabaseOption(d *cDatabase, option int, value []byte) cCode {
	return C.fdb_database_set_option(d, C.FDBDatabaseOption(option), pointer(value), length(value))
}

// createTransaction returns a new transaction of the database.
func createTransaction(d *cDatabase) (*cTransaction, cCode) {
	b := C.kz_begin(d)
	return b.transaction, b.error
}

func describeCode(code cCode) string { return C.GoString(C.fdb_get_error(code)) }

// pointer returns what C is given for bytes: they are copied before a call returns.
func pointer(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }

// length returns how many of the bytes C is given. More than the client takes of any key
// or value are as wrong as longer ones, which a C.int might not count.
func length(b []byte) C.int { return C.int(min(len(b), 1<<24)) }

func flag(b bool) C.fdb_bool_t {
	if b {
		return 1
	}
	return 0
}

// streamingModes are the client's numbers of kv's modes.
var streamingModes = map[kv.StreamingMode]C.FDBStreamingMode{
	kv.ModeIterator: C.FDB_STREAMING_MODE_ITERATOR,
	kv.ModeWantAll:  C.FDB_STREAMING_MODE_WANT_ALL,
	kv.ModeExact:    C.FDB_STREAMING_MODE_EXACT,
	kv.ModeSmall:    C.FDB_STREAMING_MODE_SMALL,
	kv.ModeMedium:   C.FDB_STREAMING_MODE_MEDIUM,
	kv.ModeLarge:    C.FDB_STREAMING_MODE_LARGE,
	kv.ModeSerial:   C.FDB_STREAMING_MODE_SERIAL,
}

// takeNothing, takeValue, takeKey, takeNumber and takeBatch copy the result of a
// future that is ready.

func takeNothing(f *cFuture) (struct{}, cCode) { return struct{}{}, C.fdb_future_get_error(f) }

func takeValue(f *cFuture) ([]byte, cCode) {
	b := C.kz_value(f)
	if b.error != 0 || b.present == 0 {
		return nil, b.error
	}
	return copied(b), 0
}

func takeKey(f *cFuture) ([]byte, cCode) {
	b := C.kz_key(f)
	if b.error != 0 {
		return nil, b.error
	}
	return copied(b), 0
}

func takeNumber(f *cFuture) (int64, cCode) {
	n := C.kz_int64(f)
	return int64(n.n), n.error
}

// takeKeys copies the keys of an array.
func takeKeys(f *cFuture) ([][]byte, cCode) {
	a := C.kz_key_array(f)
	if a.error != 0 {
		return nil, a.error
	}
	keys := make([][]byte, a.count)
	for i := range keys {
		k := C.kz_key_at(a.first, C.int(i))
		keys[i] = copied(k)
	}
	return keys, 0
}

// copied is never nil.
func copied(b C.kz_bytes) []byte {
	c := make([]byte, b.length)
	copy(c, unsafe.Slice((*byte)(b.bytes), b.length))
	return c
}

// takeBatch copies all pairs into one slice of bytes.
func takeBatch(f *cFuture) (kv.Batch, cCode) {
	p := C.kz_range(f)
	if p.error != 0 || p.count == 0 {
		return kv.Batch{More: p.more != 0}, p.error
	}
	bytes, lengths := make([]byte, p.size), make([]int32, 2*p.count)
	C.kz_take_pairs(p.first, p.count, pointer(bytes), (*C.int32_t)(unsafe.SliceData(lengths)))
	pairs := make([]kv.KeyValue, p.count)
	for i := range pairs {
		key, value := lengths[2*i], lengths[2*i]+lengths[2*i+1]
		pairs[i] = kv.KeyValue{Key: bytes[:key:key], Value: bytes[key:value:value]}
		bytes = bytes[value:]
	}
	return kv.Batch{KVs: pairs, More: p.more != 0}, 0
}
