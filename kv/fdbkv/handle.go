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
	"math"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// handle is a transaction of the client. Each call holds mu for reading, so that
// destroy, which frees the transaction, waits for the calls under way. After destroy
// no call reaches the client.
type handle struct {
	mu      sync.RWMutex
	c       *cTransaction   // nil: it was destroyed
	end     cCode           // why: the error of every call from then on
	lent    fdb.Transaction // not zero: the binding has c, and frees it when lent is garbage: see Unwrap
	cleanup runtime.Cleanup // frees c when the handle is garbage

	written atomic.Int64 // bytes of the attempt's writes, roughly
}

// newHandle returns a handle that is destroyed when it is garbage, unless scoped is
// set: then the caller destroys it in any case.
func newHandle(c *cTransaction, scoped bool) *handle {
	h := &handle{c: c}
	if !scoped {
		h.cleanup = runtime.AddCleanup(h, destroyTransaction, c)
	}
	return h
}

func destroyTransaction(c *cTransaction) { C.fdb_transaction_destroy(c) }

// destroy frees the transaction, for a reason that all later calls return. The client
// makes reads that have not arrived CodeTransactionCancelled; a commit that has begun
// may happen.
func (h *handle) destroy(reason kv.Code) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.c == nil {
		return
	}
	h.cleanup.Stop()
	if h.lent == (fdb.Transaction{}) {
		destroyTransaction(h.c)
	}
	h.c, h.end, h.lent = nil, cCode(reason), fdb.Transaction{}
}

// lend returns the transaction as the binding's, which frees it when it is garbage.
func (h *handle) lend(db *Database) (fdb.Transaction, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.c == nil {
		return fdb.Transaction{}, false
	}
	if h.lent == (fdb.Transaction{}) {
		h.cleanup.Stop()
		c := h.c
		inner := wrapPointer(&h.lent, "transaction", unsafe.Pointer(c))
		field(inner.Elem(), "db", reflect.Struct).Set(reflect.ValueOf(db.Unwrap()))
		runtime.SetFinalizer(inner.Interface(), func(any) { destroyTransaction(c) })
	}
	return h.lent, true
}

// isDestroyed returns why the transaction was freed; 0: it was not.
func (h *handle) isDestroyed() kv.Code {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return kv.Code(h.end)
}

// do makes a call, unless the transaction was destroyed: then it returns why.
func (h *handle) do(call func(c *cTransaction)) cCode {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.c == nil {
		return h.end
	}
	call(h.c)
	return 0
}

// future makes a call that begins something. After destroy there is no future: nil.
func (h *handle) future(call func(c *cTransaction) *cFuture) (f *cFuture) {
	h.do(func(c *cTransaction) { f = call(c) })
	return f
}

// code makes a call that may be refused.
func (h *handle) code(call func(c *cTransaction) cCode) (code cCode) {
	if end := h.do(func(c *cTransaction) { code = call(c) }); end != 0 {
		return end
	}
	return code
}

// writeCost is about what the client keeps for a write besides its keys and value.
const writeCost = 100

// write makes a call that writes so many bytes.
func (h *handle) write(bytes int, call func(c *cTransaction)) {
	h.written.Add(int64(bytes + writeCost))
	h.do(call)
}

// narrow returns the number that means to the client what n means to package kv,
// where its own are smaller.
func narrow(n, most int) C.int { return C.int(min(max(n, -most), most)) }

// mostPairs is the largest limit of a batch. A range read goes on with another batch
// after it.
const mostPairs = math.MaxInt32

// farthest is the largest offset of a selector: no transaction lasts long enough to
// pass so many keys. Of those near 2³¹ storage servers make negative ones.
const farthest = 1 << 30

func (h *handle) get(key []byte, snapshot bool) *cFuture {
	return h.future(func(c *cTransaction) *cFuture {
		return C.fdb_transaction_get(c, pointer(key), length(key), flag(snapshot))
	})
}

func (h *handle) getKey(sel kv.KeySelector, snapshot bool) *cFuture {
	return h.future(func(c *cTransaction) *cFuture {
		return C.fdb_transaction_get_key(c, pointer(sel.Key), length(sel.Key), flag(sel.OrEqual), narrow(sel.Offset, farthest), flag(snapshot))
	})
}

// getRange starts one batch. The client's table of batch sizes is asked for by
// mode and iteration; it takes no number of bytes.
func (h *handle) getRange(req kv.BatchRequest, mode C.FDBStreamingMode, snapshot bool) *cFuture {
	b, e := req.Begin, req.End
	return h.future(func(c *cTransaction) *cFuture {
		return C.fdb_transaction_get_range(c,
			pointer(b.Key), length(b.Key), flag(b.OrEqual), narrow(b.Offset, farthest),
			pointer(e.Key), length(e.Key), flag(e.OrEqual), narrow(e.Offset, farthest),
			narrow(req.Limit, mostPairs), 0, mode, narrow(req.Iteration, math.MaxInt32), flag(snapshot), flag(req.Reverse))
	})
}

func (h *handle) estimatedSize(r kv.KeyRange) *cFuture {
	return h.future(func(c *cTransaction) *cFuture {
		return C.fdb_transaction_get_estimated_range_size_bytes(c, pointer(r.Begin), length(r.Begin), pointer(r.End), length(r.End))
	})
}

func (h *handle) splitPoints(r kv.KeyRange, chunkSize int64) *cFuture {
	return h.future(func(c *cTransaction) *cFuture {
		return C.fdb_transaction_get_range_split_points(c, pointer(r.Begin), length(r.Begin), pointer(r.End), length(r.End), C.int64_t(chunkSize))
	})
}

func (h *handle) readVersion() *cFuture {
	return h.future(func(c *cTransaction) *cFuture { return C.fdb_transaction_get_read_version(c) })
}

func (h *handle) approximateSize() *cFuture {
	return h.future(func(c *cTransaction) *cFuture { return C.fdb_transaction_get_approximate_size(c) })
}

func (h *handle) versionstamp() *cFuture {
	return h.future(func(c *cTransaction) *cFuture { return C.fdb_transaction_get_versionstamp(c) })
}

func (h *handle) commit() *cFuture {
	return h.future(func(c *cTransaction) *cFuture { return C.fdb_transaction_commit(c) })
}

func (h *handle) onError(code kv.Code) *cFuture {
	return h.future(func(c *cTransaction) *cFuture { return C.fdb_transaction_on_error(c, cCode(code)) })
}

func (h *handle) watch(key []byte) *cFuture {
	return h.future(func(c *cTransaction) *cFuture { return C.fdb_transaction_watch(c, pointer(key), length(key)) })
}

func (h *handle) set(key, value []byte) {
	h.write(len(key)+len(value), func(c *cTransaction) {
		C.fdb_transaction_set(c, pointer(key), length(key), pointer(value), length(value))
	})
}

func (h *handle) clear(key []byte) {
	h.write(len(key), func(c *cTransaction) { C.fdb_transaction_clear(c, pointer(key), length(key)) })
}

func (h *handle) clearRange(r kv.KeyRange) {
	h.write(len(r.Begin)+len(r.End), func(c *cTransaction) {
		C.fdb_transaction_clear_range(c, pointer(r.Begin), length(r.Begin), pointer(r.End), length(r.End))
	})
}

func (h *handle) atomic(op kv.MutationType, key, operand []byte) {
	h.write(len(key)+len(operand), func(c *cTransaction) {
		C.fdb_transaction_atomic_op(c, pointer(key), length(key), pointer(operand), length(operand), C.FDBMutationType(narrow(int(op), math.MaxInt32)))
	})
}

func (h *handle) addConflict(r kv.KeyRange, write bool) cCode {
	kind := C.FDBConflictRangeType(C.FDB_CONFLICT_RANGE_TYPE_READ)
	if write {
		kind = C.FDB_CONFLICT_RANGE_TYPE_WRITE
	}
	return h.code(func(c *cTransaction) cCode {
		return C.fdb_transaction_add_conflict_range(c, pointer(r.Begin), length(r.Begin), pointer(r.End), length(r.End), kind)
	})
}

func (h *handle) setOption(o kv.Option, arg []byte) cCode {
	return h.code(func(c *cTransaction) cCode {
		return C.fdb_transaction_set_option(c, C.FDBTransactionOption(narrow(int(o), math.MaxInt32)), pointer(arg), length(arg))
	})
}

func (h *handle) setReadVersion(version int64) {
	h.do(func(c *cTransaction) { C.fdb_transaction_set_read_version(c, C.int64_t(version)) })
}

// committedVersion returns what the client says; after destroy, that there is none.
func (h *handle) committedVersion() (int64, cCode) {
	v := C.kz_version{version: -1}
	h.do(func(c *cTransaction) { v = C.kz_committed_version(c) })
	return int64(v.version), v.error
}

// reset reports whether the transaction can be used again.
func (h *handle) reset() bool {
	return h.do(func(c *cTransaction) { C.fdb_transaction_reset(c) }) == 0
}

func (h *handle) cancel() { h.do(func(c *cTransaction) { C.fdb_transaction_cancel(c) }) }
