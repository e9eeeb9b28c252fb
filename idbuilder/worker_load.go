// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// KeyLoads ranges over the keys in the worker's memory, in no order: those that were
// used within [Options.Idle]. The counts of a key that was forgotten begin at 0 again.
func (w *Worker) KeyLoads() iter.Seq[KeyLoad] {
	return func(yield func(KeyLoad) bool) {
		w.keys.entries.Range(func(_, entry any) bool {
			e := entry.(*keyEntry)
			s := e.state.Load()
			return s == nil || yield(e.keyLoad(s))
		})
	}
}

// Load returns the worker's counts.
func (w *Worker) Load() Load {
	l := Load{Waits: uint64(w.pool.Metrics().Waits), StoreErrors: map[string]uint64{}}
	w.usage.errors.Range(func(operation, n any) bool {
		l.StoreErrors[operation.(string)] = n.(*count).Load()
		return true
	})
	return l
}

// APIError returns the answer that the API gives for an error of a method of the
// worker: its message names the parameter and what is allowed, and shows none of
// the store's internals.
func (w *Worker) APIError(err error) *api.Error { return w.apiError(err) }

// apiError returns the answer for an error.
func (w *Worker) apiError(err error) *api.Error {
	var e *api.Error
	var param *idconfig.ParamError
	var change *idconfig.ChangeError
	var layout *snowflake.ChangeError
	var full *snowflake.ExhaustedError
	var quarantine *snowflake.QuarantineError
	var short *sequence.ExhaustedError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &param):
		code := api.Invalid
		if errors.Is(err, idconfig.ErrKey) {
			code = api.InvalidKey
		}
		return &api.Error{Code: code, Message: strings.ReplaceAll(err.Error(), "\n", "; ")}
	case errors.As(err, &full):
		return &api.Error{Code: api.Exhausted, Message: strings.TrimPrefix(err.Error(), "snowflake: "), RetryAfter: max(0, full.Free.Sub(w.options.Now())), Err: err}
	case errors.As(err, &quarantine):
		return &api.Error{
			Code: api.Unavailable, RetryAfter: max(0, quarantine.Until.Sub(w.options.Now())), Err: err,
			Message: "the store may have lost leases of worker ids; none is leased until they have ended, " + quarantine.Until.UTC().Format(time.RFC3339),
		}
	case errors.Is(err, snowflake.ErrLeaseKey):
		return api.Errorf(api.Invalid, "lease_key: it is not well-formed; send that of the last answer, or none")
	case errors.As(err, &layout):
		return &api.Error{Code: api.Invalid, Status: http.StatusConflict, Message: "base_ts: " + err.Error() + "; repeat the request with force=true to accept that IDs may come twice"}
	case errors.As(err, &change):
		return &api.Error{Code: api.Invalid, Status: http.StatusConflict, Message: err.Error()}
	case errors.Is(err, token.ErrInvalid), errors.Is(err, token.ErrExpired):
		return &api.Error{Code: api.Authentication, Message: "Authorization: the token is " + strings.TrimPrefix(err.Error(), "token: "), Err: err}
	case errors.Is(err, token.ErrBusy):
		return &api.Error{Code: api.Unavailable, Status: http.StatusTooManyRequests, Message: "too many unknown tokens are presented; ask again later", RetryAfter: time.Second, Err: err}
	case errors.As(err, &short) && short.Room > 0:
		return &api.Error{Code: api.Exhausted, Message: fmt.Sprintf("the sequence is exhausted: the last ID of a request may be at most %d further; ask for fewer", short.Room), Err: err}
	case errors.Is(err, store.ErrExhausted), errors.Is(err, format.ErrExhausted):
		return &api.Error{Code: api.Exhausted, Message: "the sequence is exhausted: no numbers are left for the request", Err: err}
	case errors.Is(err, store.ErrLost):
		return &api.Error{Code: api.Unavailable, Message: "the store may have lost data; no IDs are given until an operator confirms: idbuilder store confirm", Err: err}
	case errors.Is(err, store.ErrNewer):
		return &api.Error{Code: api.Unavailable, Message: "a newer version wrote what the store holds: ask another worker, and update this one", Err: err}
	case errors.Is(err, revision.ErrUnconfirmed):
		return &api.Error{Code: api.Unavailable, Message: "the change is stored, but other workers may not have seen it yet; repeat the request", RetryAfter: time.Second, Err: err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &api.Error{Code: api.Unavailable, Message: storeLate, RetryAfter: time.Second, Err: err}
	}
	var corrupt *store.CorruptError
	if errors.As(err, &corrupt) {
		return &api.Error{Code: api.Internal, Message: "what the store holds is damaged: " + corrupt.Where, Err: err}
	}
	return &api.Error{Code: api.Unavailable, Message: storeDown, RetryAfter: time.Second, Err: err}
}

// KeyLoad counts what this worker has done for a key since the key is in its memory.
type KeyLoad struct {
	Key       string
	Type      idconfig.Type
	Requests  uint64 // for IDs over HTTP, whatever their answer
	IDs       int64  // that were given
	Remaining uint64 // numbers that are reserved and not given; of a formatted key, those of its first counter
}

// Load counts what concerns no single key, since the worker began.
type Load struct {
	Waits       uint64            // requests for IDs that waited for the store
	StoreErrors map[string]uint64 // failed operations of the store, by operation
}
