// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/stored"
	"github.com/kazahana-db/kazahana/tuple"
)

// outline is what the first two elements of a directory's keys say.
type outline struct {
	headers map[string][]byte   // of the types that have a header
	names   map[string][]string // by letter
	first   map[string][]byte   // a key of a letter and name
	strays  [][]byte            // the first keys that no store writes
}

// add adds a key, and returns where the next letter or name begins.
func (o *outline) add(p *place, pair kv.KeyValue) (next []byte) {
	rest := pair.Key[len(p.prefix):]
	letter, rest, err := tuple.ReadString(rest)
	name := ""
	if err == nil {
		name, rest, err = tuple.ReadString(rest)
	}
	if err != nil || !slices.Contains(letters, letter) {
		return o.addStray(p, pair.Key)
	}
	if letter == letterSystem && len(rest) == 0 {
		o.headers[name] = bytes.Clone(pair.Value)
	}
	o.names[letter] = append(o.names[letter], name)
	o.first[letter+name] = bytes.Clone(pair.Key)
	return p.below(letter, name).End
}

// addStray adds a key that no store writes, and returns where to go on: behind it, or, when
// enough of them are known, where keys of stores may be.
func (o *outline) addStray(p *place, key []byte) (next []byte) {
	if len(o.strays) < mostStrays {
		o.strays = append(o.strays, bytes.Clone(key))
		return kv.Successor(key)
	}
	for _, letter := range letters {
		names := kv.PrefixRange(append(p.pack(letter), stringCode))
		switch {
		case bytes.Compare(key, names.Begin) < 0:
			return names.Begin
		case bytes.Compare(key, names.End) < 0:
			return kv.Successor(key)
		}
	}
	return p.keys().End
}

// isOfStores reports whether the directory has a store.
func (o *outline) isOfStores() bool {
	return len(o.headers) > 0 || len(o.names[letterRecord]) > 0
}

// The letters of the keys in a directory of stores.
const (
	letterEntry   = "I"
	letterRank    = "L"
	letterRecord  = "R"
	letterSystem  = "S"
	letterVersion = "V"
)

// letters has those of the keys in the order of the keys. A name follows, a packed string,
// which begins with stringCode.
var letters = []string{letterEntry, letterRank, letterRecord, letterSystem, letterVersion}

const stringCode = 0x02

// mostStrays is how many keys that no store writes are reported in a directory.
const mostStrays = 20

// reasonOf returns an error with what that of stored bytes says, without a remedy for damage.
func reasonOf(err error) error {
	var wrong *stored.Error
	if errors.As(err, &wrong) && wrong.Err != nil {
		return wrong.Err
	}
	return err
}
