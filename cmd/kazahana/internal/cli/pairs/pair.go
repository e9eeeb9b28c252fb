// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"encoding/hex"
	"fmt"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// mostShown is how many bytes of a value the text output shows.
const mostShown = 1000

// showOptions say how pairs are shown.
type showOptions struct {
	keysOnly bool
	raw      bool // as text, the whole key with escapes instead of the decoded tuple
	withDir  bool // as text, the directory of each key
}

// pair is a key with its value.
type pair struct {
	Key       string  `json:"key"` // the whole key, as text with escapes
	KeyHex    string  `json:"keyHex"`
	Directory string  `json:"directory,omitempty"` // to which it belongs
	OwnTuple  string  `json:"tuple,omitempty"`     // what follows the directory's prefix, if it is a tuple
	KeyTuple  string  `json:"keyTuple,omitempty"`  // the whole key, if it is a tuple
	Value     *string `json:"value,omitempty"`     // nil with --keys-only
	ValueHex  *string `json:"valueHex,omitempty"`

	ValueTuple string `json:"valueTuple,omitempty"`
	Bytes      int    `json:"valueBytes"`

	own     string // what follows the directory's prefix, as text with escapes
	short   string // the value, cut
	options showOptions
}

// newPair returns a pair whose key has the part own behind the prefix of its directory.
func newPair(key, own, value []byte, dir string, o showOptions) pair {
	p := pair{
		Key: keytext.Format(key), KeyHex: hex.EncodeToString(key), KeyTuple: keytext.Tuple(key),
		Directory: dir, own: keytext.Format(own), Bytes: len(value), options: o,
	}
	if dir != "" {
		p.OwnTuple = keytext.Tuple(own)
	}
	if o.keysOnly {
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
	var pairs []any
	switch {
	case p.options.raw:
		pairs = append(pairs, "key", p.Key, "", "0x"+p.KeyHex)
	case p.OwnTuple != "":
		pairs = append(pairs, "key", p.OwnTuple)
	case p.Directory != "":
		pairs = append(pairs, "key", p.own)
	default:
		pairs = append(pairs, "key", p.Key)
		if p.KeyTuple != "" {
			pairs = append(pairs, "", p.KeyTuple)
		}
	}
	if p.options.withDir && p.Directory != "" {
		pairs = append(pairs, "in", p.Directory)
	}
	if p.Value != nil {
		pairs = append(pairs, "value", p.short)
	}
	if p.ValueTuple != "" {
		pairs = append(pairs, "", p.ValueTuple)
	}
	lines := shell.Fields(pairs...)
	if !p.options.keysOnly {
		lines = append(lines, "")
	}
	return lines
}
