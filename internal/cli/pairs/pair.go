// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"encoding/hex"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// mostShown is how many bytes of a value the text output shows.
const mostShown = 1000

// pair is a key with its value.
type pair struct {
	Key        string  `json:"key"` // text with escapes
	KeyHex     string  `json:"keyHex"`
	KeyTuple   string  `json:"keyTuple,omitempty"`
	Value      *string `json:"value,omitempty"` // nil with --keys-only
	ValueHex   *string `json:"valueHex,omitempty"`
	ValueTuple string  `json:"valueTuple,omitempty"`
	Bytes      int     `json:"valueBytes"`

	short string // the value, cut
}

func newPair(key, value []byte, keyOnly bool) pair {
	p := pair{Key: keytext.Format(key), KeyHex: hex.EncodeToString(key), KeyTuple: keytext.Tuple(key), Bytes: len(value)}
	if keyOnly {
		return p
	}
	text, digits := keytext.Format(value), hex.EncodeToString(value)
	p.Value, p.ValueHex, p.ValueTuple, p.short = &text, &digits, keytext.Tuple(value), text
	if len(value) > mostShown {
		p.short = fmt.Sprintf("%s… and %d bytes more; --json shows all", keytext.Format(value[:mostShown]), len(value)-mostShown)
		p.ValueTuple = ""
	}
	return p
}

// Lines implements [shell.Result].
func (p pair) Lines() []string {
	pairs := []any{"key", p.Key}
	if p.KeyTuple != "" {
		pairs = append(pairs, "", p.KeyTuple)
	}
	if p.Value != nil {
		pairs = append(pairs, "value", p.short)
	}
	if p.ValueTuple != "" {
		pairs = append(pairs, "", p.ValueTuple)
	}
	return append(shell.Fields(pairs...), "")
}
