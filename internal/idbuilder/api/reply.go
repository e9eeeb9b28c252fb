// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"log/slog"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// Success is the message of answers whose code is OK.
const Success = "success"

// Reply is the envelope of each answer.
type Reply[T any] struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Data    T      `json:"data"`
}

// Numbers is the data of GET /v1/id/increment. ID and IDs are the same, for the
// two dialects. Texts has them as decimal texts if one is beyond ±(2^53−1), which JavaScript cannot hold.
type Numbers struct {
	ID    []int64  `json:"id"`
	IDs   []int64  `json:"ids"`
	Texts []string `json:"id_str,omitempty"`
}

// Texts is the data of GET /v1/id/formatted. ID and IDs are the same.
type Texts struct {
	ID  []string `json:"id"`
	IDs []string `json:"ids"`
}

// Snowflake is the data of GET /v1/id/snowflake: the layout in both dialects, and the
// worker id that the client has until LeaseExpires.
type Snowflake struct {
	SkipSize     int   `json:"skip_size"`
	BaseTS       int64 `json:"base_ts"`
	TSSize       int   `json:"ts_size"`
	WorkerID     int64 `json:"worker_id"`
	WorkerIDSize int   `json:"worker_id_size"`
	SeqSize      int   `json:"seq_size"`

	Epoch        int64 `json:"epoch"`
	WorkerBits   int   `json:"worker_bits"`
	SequenceBits int   `json:"sequence_bits"`

	// LeaseKey renews the lease: ask with lease_key again before LeaseExpires.
	LeaseKey string `json:"lease_key"`
	// LeaseDuration is in seconds from the answer; ask again after a third of it.
	LeaseDuration float64 `json:"lease_duration"`
	LeaseStart    int64   `json:"lease_start"`   // Unix milliseconds: make no ID before
	LeaseExpires  int64   `json:"lease_expires"` // Unix milliseconds: make no ID from then on
}

// Token is the data of GET /v1/auth/token and /v1/auth/tokenreset.
type Token struct {
	Key       string `json:"key"`
	Token     string `json:"token"`
	Type      string `json:"token_type"`           // "key"
	ExpiresAt string `json:"expires_at,omitempty"` // ISO 8601; none: it does not expire
}

// Page is the data of GET /v1/config/list.
type Page struct {
	Items      []Summary `json:"items"`
	NextCursor *string   `json:"next_cursor"`
	HasMore    bool      `json:"has_more"`
}

// Summary is an item of a Page.
type Summary struct {
	Key    string `json:"key"`
	IDType string `json:"id_type"`
	Name   string `json:"name,omitempty"`
	Error  string `json:"error,omitempty"` // why the configuration cannot be read
}

// Health is the data of GET /health.
type Health struct {
	Status  string `json:"status"` // "healthy"
	Version string `json:"version"`
}

// Readiness is the data of GET /ready.
type Readiness struct {
	Ready      bool            `json:"ready"`
	Components map[string]bool `json:"components"`
	// Notes say why a component is not ready, or which limits it has.
	Notes map[string]string `json:"notes,omitempty"`
}

// Format implements [fmt.Formatter]: the token is left out.
func (t Token) Format(f fmt.State, verb rune) { redact.Format(f, verb, t.withoutSecret()) }

// LogValue implements [slog.LogValuer]: the token is left out.
func (t Token) LogValue() slog.Value { return slog.AnyValue(t.withoutSecret()) }

// withoutSecret returns the token without its text, as a type without methods.
func (t Token) withoutSecret() any {
	type token = Token
	type Token token // the name that %#v prints
	t.Token = redact.Secret(t.Token)
	return Token(t)
}

// Format implements [fmt.Formatter]: the lease key is left out.
func (s Snowflake) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, s.withoutSecret())
}

// LogValue implements [slog.LogValuer]: the lease key is left out.
func (s Snowflake) LogValue() slog.Value { return slog.AnyValue(s.withoutSecret()) }

func (s Snowflake) withoutSecret() any {
	type snowflake = Snowflake
	type Snowflake snowflake
	s.LeaseKey = redact.Secret(s.LeaseKey)
	return Snowflake(s)
}
