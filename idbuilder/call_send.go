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

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// sendData sends an answer whose code is OK.
func (c *call) sendData(data any) error {
	b, err := json.Marshal(api.Reply[any]{Code: api.OK, Message: api.Success, Data: data})
	if err != nil {
		return err
	}
	c.body = append(c.body, b...)
	return c.sendBody(http.StatusOK)
}

// sendSuccess sends an answer without data.
func (c *call) sendSuccess() error {
	c.body = append(c.body, `{"code":0,"message":"success"}`...)
	return c.sendBody(http.StatusOK)
}

// sendBody sends the body. Of a request with an Idempotency-Key it keeps the body before.
func (c *call) sendBody(status int) error {
	if c.reply != nil && status == http.StatusOK {
		if err := c.keepReply(); err != nil {
			return err
		}
	}
	c.status = status
	h := c.w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = jsonType, noStore, noSniff
	h["X-Trace-Id"] = []string{c.trace}
	if c.outage {
		c.noteOutage()
	}
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

// noteOutage says in the answer, and counts, that it was made from memory because the store does
// not answer.
func (c *call) noteOutage() {
	c.w.Header().Set("Storage-Outage", strconv.Itoa(int(math.Ceil(c.worker.watch.Outage().Seconds()))))
	if c.status == http.StatusOK {
		c.worker.usage.fromMemory.Add(1)
	}
}

func (c *call) sendCompressed(status int) error {
	c.w.Header()["Content-Encoding"] = gzipped
	c.w.WriteHeader(status)
	z := compressors.Get().(*gzip.Writer)
	z.Reset(c.w)
	_, _ = z.Write(c.body) // the client may be gone
	_ = z.Close()
	z.Reset(nil) // one large answer does not keep its memory
	compressors.Put(z)
	return nil
}

// sendError sends an error as the answer.
func (c *call) sendError(err error) {
	e := c.refusal(err)
	status := e.HTTPStatus()
	if c.status != 0 {
		return // the answer is on its way
	}
	level := slog.LevelInfo
	if status >= 500 && e.Code != api.Exhausted && c.r.Context().Err() == nil {
		level = slog.LevelError
	}
	c.worker.options.Logger.Log(c.r.Context(), level, "idbuilder: request refused",
		"code", int(e.Code), "message", brief(e.Message), "path", brief(c.r.URL.Path), "trace_id", c.trace, "cause", briefError(e.Err))
	if e.RetryAfter > 0 {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	if status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="idbuilder"`)
	}
	c.reply = nil
	c.body, _ = json.Marshal(api.Reply[any]{Code: e.Code, Message: e.Message}) // everything in it can be encoded
	_ = c.sendBody(status)
}

// maxLogged is how many bytes of a text go to the log. A request without a token may have 64 KiB in
// its path. The log's escapes make up to six times as many of them, and messages quote the path.
const maxLogged = 200

// brief returns a text for the log. It cuts a long one.
func brief(text string) string {
	if len(text) <= maxLogged {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxLogged], ""), len(text))
}

// briefError returns an error for the log: itself if its text is short.
func briefError(err error) any {
	if err == nil || len(err.Error()) <= 5*maxLogged {
		return err
	}
	return brief(err.Error())
}

// What answers say of a store that does not answer.
const (
	storeLate = "the store did not answer in time; repeat the request"
	storeDown = "the store cannot be asked now; repeat the request"
)

// refusal returns the answer for an error. If the time of the request is over, it says so.
func (c *call) refusal(err error) *api.Error {
	e := c.worker.apiError(err)
	if (e.Message == storeLate || e.Message == storeDown) && c.limit != nil && errors.Is(c.limit.Err(), context.DeadlineExceeded) {
		late := *e
		late.Message = fmt.Sprintf("the request took longer than its time limit, %v; repeat it", c.worker.options.Timeout)
		return &late
	}
	return e
}

// Values of headers, which are the same in each answer.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	gzipped  = []string{"gzip"}
	noSniff  = []string{"nosniff"}
)

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return z
}}

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
