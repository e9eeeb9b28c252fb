// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

/*
#cgo noescape fdb_transaction_get
#cgo noescape fdb_transaction_get_key
#cgo noescape fdb_transaction_get_range
#cgo noescape fdb_transaction_set
#cgo noescape fdb_transaction_clear
#cgo noescape fdb_transaction_clear_range
#cgo noescape fdb_transaction_atomic_op
#cgo noescape fdb_transaction_add_conflict_range
#cgo noescape fdb_transaction_set_option
#cgo noescape fdb_transaction_watch
#cgo noescape fdb_transaction_get_estimated_range_size_bytes
#cgo noescape fdb_transaction_get_range_split_points

#define FDB_API_VERSION 730
#include <stdint.h>
#include <foundationdb/fdb_c.h>

typedef struct {
	fdb_error_t error;
	int64_t version;
} kz_version;

static kz_version kz_committed_version(FDBTransaction* tr) {
	kz_version v = {0};
	v.error = fdb_transaction_get_committed_version(tr, &v.version);
	return v;
}
*/
import "C"

import (
	"errors"
	"reflect"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// handle is the client's transaction. It is valid as long as the
// fdb.Transaction that it was taken from is reachable.
type handle struct{ c *cTransaction }

// handleOf returns the client's transaction of a binding's transaction, which
// the binding keeps to itself in a field of this name (see checkBinding).
func handleOf(tr fdb.Transaction) handle {
	inner := reflect.ValueOf(tr).Field(0)
	return handle{(*cTransaction)(inner.Elem().FieldByName(handleField).UnsafePointer())}
}

const handleField = "ptr"

// checkBinding returns an error if fdb.Transaction is not made as handleOf
// expects.
func checkBinding() error {
	outer := reflect.TypeFor[fdb.Transaction]()
	if outer.NumField() == 1 && outer.Field(0).Type.Kind() == reflect.Pointer {
		inner := outer.Field(0).Type.Elem()
		if inner.Kind() == reflect.Struct {
			if f, ok := inner.FieldByName(handleField); ok && f.Type.Kind() == reflect.Pointer {
				return nil
			}
		}
	}
	return errors.New("fdbkv: this version of the FoundationDB Go binding keeps its transactions in another way; use the version that go.mod of kazahana names")
}

func (h handle) get(key []byte, snapshot bool) *cFuture {
	return C.fdb_transaction_get(h.c, pointer(key), length(key), flag(snapshot))
}

func (h handle) getKey(sel kv.KeySelector, snapshot bool) *cFuture {
	return C.fdb_transaction_get_key(h.c, pointer(sel.Key), length(sel.Key), flag(sel.OrEqual), C.int(sel.Offset), flag(snapshot))
}

// getRange starts one batch. The client's table of batch sizes is asked for by
// mode and iteration; it takes no number of bytes.
func (h handle) getRange(req kv.BatchRequest, mode C.FDBStreamingMode, snapshot bool) *cFuture {
	b, e := req.Begin, req.End
	return C.fdb_transaction_get_range(h.c,
		pointer(b.Key), length(b.Key), flag(b.OrEqual), C.int(b.Offset),
		pointer(e.Key), length(e.Key), flag(e.OrEqual), C.int(e.Offset),
		C.int(req.Limit), 0, mode, C.int(req.Iteration), flag(snapshot), flag(req.Reverse))
}

func (h handle) estimatedSize(r kv.KeyRange) *cFuture {
	return C.fdb_transaction_get_estimated_range_size_bytes(h.c, pointer(r.Begin), length(r.Begin), pointer(r.End), length(r.End))
}

func (h handle) splitPoints(r kv.KeyRange, chunkSize int64) *cFuture {
	return C.fdb_transaction_get_range_split_points(h.c, pointer(r.Begin), length(r.Begin), pointer(r.End), length(r.End), C.int64_t(chunkSize))
}

func (h handle) readVersion() *cFuture     { return C.fdb_transaction_get_read_version(h.c) }
func (h handle) approximateSize() *cFuture { return C.fdb_transaction_get_approximate_size(h.c) }
func (h handle) versionstamp() *cFuture    { return C.fdb_transaction_get_versionstamp(h.c) }
func (h handle) commit() *cFuture          { return C.fdb_transaction_commit(h.c) }
func (h handle) onError(code kv.Code) *cFuture {
	return C.fdb_transaction_on_error(h.c, cCode(code))
}

func (h handle) watch(key []byte) *cFuture {
	return C.fdb_transaction_watch(h.c, pointer(key), length(key))
}

func (h handle) set(key, value []byte) {
	C.fdb_transaction_set(h.c, pointer(key), length(key), pointer(value), length(value))
}

func (h handle) clear(key []byte) { C.fdb_transaction_clear(h.c, pointer(key), length(key)) }

func (h handle) clearRange(r kv.KeyRange) {
	C.fdb_transaction_clear_range(h.c, pointer(r.Begin), length(r.Begin), pointer(r.End), length(r.End))
}

func (h handle) atomic(op kv.MutationType, key, operand []byte) {
	C.fdb_transaction_atomic_op(h.c, pointer(key), length(key), pointer(operand), length(operand), C.FDBMutationType(op))
}

func (h handle) addConflict(r kv.KeyRange, write bool) cCode {
	kind := C.FDBConflictRangeType(C.FDB_CONFLICT_RANGE_TYPE_READ)
	if write {
		kind = C.FDB_CONFLICT_RANGE_TYPE_WRITE
	}
	return C.fdb_transaction_add_conflict_range(h.c, pointer(r.Begin), length(r.Begin), pointer(r.End), length(r.End), kind)
}

func (h handle) setOption(o kv.Option, arg []byte) cCode {
	return C.fdb_transaction_set_option(h.c, C.FDBTransactionOption(o), pointer(arg), length(arg))
}

func (h handle) setReadVersion(version int64) {
	C.fdb_transaction_set_read_version(h.c, C.int64_t(version))
}

func (h handle) committedVersion() (int64, cCode) {
	v := C.kz_committed_version(h.c)
	return int64(v.version), v.error
}

func (h handle) reset()  { C.fdb_transaction_reset(h.c) }
func (h handle) cancel() { C.fdb_transaction_cancel(h.c) }
