// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Validate reports what is wrong with a kind.
func (k Kind) Validate() error {
	small := func(r rune) rune {
		if r < 'a' || r > 'z' {
			return r
		}
		return -1
	}
	if k == "" || len(k) > 32 || len(bytes.Map(small, []byte(k))) > 0 {
		return fmt.Errorf("store: %q is no kind of documents: it has 1 to 32 small letters", string(k))
	}
	return nil
}

// Validate reports what is wrong with a document that is to be stored: with
// its key, type, value or version.
func (d Document) Validate() error {
	if err := CheckName(d.Key); err != nil {
		return err
	}
	switch {
	case len(d.Type) > 50:
		return fmt.Errorf("store: the type of the document %q has %d bytes, allowed are 50", d.Key, len(d.Type))
	case len(d.Value) > MaxValue:
		return fmt.Errorf("store: the value of the document %q has %d bytes, allowed are %d", d.Key, len(d.Value), MaxValue)
	case !json.Valid(d.Value) || bytes.TrimLeft(d.Value, " \t\r\n")[0] != '{':
		return fmt.Errorf("store: the value of the document %q is no JSON object", d.Key)
	case d.Version < 0:
		return fmt.Errorf("store: the document %q has the version %d; versions begin at 1, and 0 stands for a new document", d.Key, d.Version)
	}
	return nil
}

// MaxDocuments is how many documents a list has that sets no limit.
const MaxDocuments = 1000

// Most returns how many documents a list has at most.
func (o ListOptions) Most() int {
	if o.Limit <= 0 {
		return MaxDocuments
	}
	return o.Limit
}
