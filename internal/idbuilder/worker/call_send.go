// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// sendData sends an answer with the code OK.
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
	if len(c.body) >= countedByServer {
		h["Content-Length"] = []string{strconv.Itoa(len(c.body))}
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(c.body) // the client may be gone
	return nil
}

// countedByServer is a size below which net/http adds the Content-Length itself, at less cost. It does so
// for answers of up to a few KB.
const countedByServer = 1 << 10

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
	e := c.worker.APIError(err)
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

// replyKey says under which key the answer to a request with an Idempotency-Key is kept.
type replyKey struct {
	document string
	request  string // what the first request asked for
	lease    bool   // the answer is the lease of a worker id
}

// keptReply is a kept answer, as the document in the store has it.
type keptReply struct {
	Request string          `json:"request"`
	Body    json.RawMessage `json:"body"`
}

// errReplayed says that the answer of an earlier request was sent.
var errReplayed = errors.New("idbuilder: the answer of an earlier request was repeated")

// replayReply sends the kept answer of an earlier request with the same Idempotency-Key and the
// same token, if there is one, and returns errReplayed.
func (c *call) replayReply(key string, t idconfig.Type) error {
	text := headerValue(c.r, "Idempotency-Key")
	if text == "" {
		return nil
	}
	if len(text) > 255 {
		return api.Errorf(api.Invalid, "Idempotency-Key: it has %d bytes; allowed are 1 to 255", len(text))
	}
	print := c.requestFingerprint()
	id := hashOf(string(c.who.Hash[:]), string(t), key, text)
	c.reply = &replyKey{document: hex.EncodeToString(id[:]), request: hex.EncodeToString(print[:]), lease: t == idconfig.TypeSnowflake}
	return c.sendReply()
}

// sendReply sends the kept answer, if there is one.
func (c *call) sendReply() error {
	d, err := c.worker.store.Get(c.requestContext(), store.Replies, c.reply.document)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !d.Expires.IsZero() && !c.worker.options.Now().Before(d.Expires):
		return c.dropReply(d)
	}
	var kept keptReply
	if err := json.Unmarshal(d.Value, &kept); err != nil {
		return &store.CorruptError{Where: "reply " + d.Key, Reason: "it cannot be read", Err: err}
	}
	if kept.Request != c.reply.request {
		return api.Errorf(api.Invalid, "Idempotency-Key: another request had it in the last %v", c.worker.options.ReplyLifetime)
	}
	if c.reply.lease {
		return c.resumeLease(d, kept.Body)
	}
	c.reply, c.body = nil, append(c.body[:0], kept.Body...)
	c.w.Header().Set("Idempotency-Replayed", "true")
	if err := c.sendBody(http.StatusOK); err != nil {
		return err
	}
	return errReplayed
}

// dropReply removes a kept answer that has expired, unless another request has replaced it
// since.
func (c *call) dropReply(d store.Document) error {
	err := c.worker.store.Delete(c.requestContext(), store.Replies, d.Key, d.Version)
	if errors.Is(err, store.ErrConflict) {
		return c.sendReply()
	}
	return err
}

// resumeLease makes the request renew the lease of the kept answer. The kept answer is
// not sent again: the lease has less time left than it says, or has ended, and then the
// worker id may be another client's.
func (c *call) resumeLease(d store.Document, body []byte) error {
	var kept api.Reply[api.Snowflake]
	if err := json.Unmarshal(body, &kept); err != nil {
		return &store.CorruptError{Where: "reply " + d.Key, Reason: "it is not a lease", Err: err}
	}
	c.reply, c.lease = nil, kept.Data.LeaseKey
	return nil
}

// keepReply stores the answer before it is sent. If another request with the same
// Idempotency-Key has stored its answer first, that one is sent, and the IDs of this
// request are lost.
func (c *call) keepReply() error {
	value, err := json.Marshal(keptReply{c.reply.request, c.body})
	if err != nil {
		return err
	}
	if len(value) > store.MaxValue {
		return api.Errorf(api.SizeLimit, "size: the answer has %d bytes; with an Idempotency-Key, allowed are %d: ask for fewer IDs", len(c.body), store.MaxValue)
	}
	expires := c.worker.options.Now().Add(c.worker.options.ReplyLifetime)
	_, err = c.worker.store.Put(c.requestContext(), store.Replies, store.Document{Key: c.reply.document, Value: value, Expires: expires})
	if errors.Is(err, store.ErrConflict) && c.reply.lease {
		return nil // two concurrent requests have a worker id each
	}
	if errors.Is(err, store.ErrConflict) {
		if err := c.sendReply(); err != nil {
			return err
		}
		return fmt.Errorf("idbuilder: the answer of a request with the same Idempotency-Key came and went: %w", err)
	}
	return err
}

// hashOf returns the hash of texts, each with its length.
func hashOf(texts ...string) [32]byte {
	var all strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&all, "%d:%s", len(text), text)
	}
	return sha256Sum(all.String())
}
