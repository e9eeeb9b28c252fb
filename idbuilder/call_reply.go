// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

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
	text := c.r.Header.Get("Idempotency-Key")
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
		return &store.CorruptError{Where: "reply " + d.Key, Reason: "it is no lease", Err: err}
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
