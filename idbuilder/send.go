// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/token"
)

// Values of headers, which are the same in each answer.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	gzipped  = []string{"gzip"}
	noSniff  = []string{"nosniff"}
)

// send sends the body: first to where a repetition of the request finds it.
func (c *call) send(status int) error {
	if c.reply != nil && status == http.StatusOK {
		if err := c.keepReply(); err != nil {
			return err
		}
	}
	c.status = status
	h := c.w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = jsonType, noStore, noSniff
	h["X-Trace-Id"] = []string{c.trace}
	if from := c.worker.options.CompressFrom; from > 0 && len(c.body) >= from {
		h["Vary"] = []string{"Accept-Encoding"}
		if acceptsGzip(c.r) {
			return c.sendCompressed(status)
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(c.body))}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(c.body) // the client may be gone
	return nil
}

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return z
}}

func (c *call) sendCompressed(status int) error {
	c.w.Header()["Content-Encoding"] = gzipped
	c.w.WriteHeader(status)
	z := compressors.Get().(*gzip.Writer)
	z.Reset(c.w)
	_, _ = z.Write(c.body) // the client may be gone
	_ = z.Close()
	z.Reset(nil) // it keeps no answer in memory
	compressors.Put(z)
	return nil
}

// acceptsGzip reports whether the client accepts gzip: it names it without q=0.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) == "gzip" {
			q = strings.ReplaceAll(q, " ", "")
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}

// fail sends an error as the answer.
func (c *call) fail(err error) {
	e := c.worker.apiError(err)
	status := e.HTTPStatus()
	if c.status != 0 {
		return // the answer is on its way
	}
	level := slog.LevelInfo
	if status >= 500 && e.Code != api.Exhausted && c.r.Context().Err() == nil {
		level = slog.LevelError
	}
	c.worker.options.Logger.Log(c.r.Context(), level, "idbuilder: request refused",
		"code", int(e.Code), "message", e.Message, "path", c.r.URL.Path, "trace_id", c.trace, "cause", e.Err)
	if e.RetryAfter > 0 {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	if status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="idbuilder"`)
	}
	c.reply = nil
	c.body, _ = json.Marshal(api.Reply[any]{Code: e.Code, Message: e.Message}) // has nothing that cannot be encoded
	_ = c.send(status)
}

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
		return &api.Error{Code: api.Authentication, Message: "Authorization: " + strings.TrimPrefix(err.Error(), "token: the token is "), Err: err}
	case errors.Is(err, token.ErrBusy):
		return &api.Error{Code: api.Unavailable, Status: http.StatusTooManyRequests, Message: "too many unknown tokens are presented; ask again later", RetryAfter: time.Second, Err: err}
	case errors.As(err, &short) && short.Room > 0:
		return &api.Error{Code: api.Exhausted, Message: fmt.Sprintf("the sequence is exhausted: the last ID of a request may be at most %d further; ask for fewer", short.Room), Err: err}
	case errors.Is(err, store.ErrExhausted), errors.Is(err, format.ErrExhausted):
		return &api.Error{Code: api.Exhausted, Message: "the sequence is exhausted: no numbers are left for the request", Err: err}
	case errors.Is(err, store.ErrLost):
		return &api.Error{Code: api.Unavailable, Message: "the store has lost data; no IDs are given until an operator confirms: idbuilder store confirm", Err: err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &api.Error{Code: api.Unavailable, Message: "the request took longer than its time limit; repeat it", RetryAfter: time.Second, Err: err}
	}
	var corrupt *store.CorruptError
	if errors.As(err, &corrupt) {
		return &api.Error{Code: api.Internal, Message: "what the store holds is damaged: " + corrupt.Where, Err: err}
	}
	return &api.Error{Code: api.Unavailable, Message: "the store cannot be asked now; repeat the request", RetryAfter: time.Second, Err: err}
}
