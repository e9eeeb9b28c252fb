// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"time"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// Error says why stored bytes cannot be used, and what to do.
type Error = format.Error

// Header is what a store's header says.
type Header struct {
	Schema  string  // the text of the schema; see docs/layout.md
	Indexes []Index // in the order of their names, recounts included
}

// Index is an index in the header of a store.
type Index struct {
	KeyName string // the name in keys
	Layout  string
	State   index.State
}

// DecodeHeader reads the value of the key ("S", type). It returns an *[Error] if the value
// is damaged or of a newer format.
func DecodeHeader(value []byte) (h Header, err error) {
	c, err := format.DecodeCatalog(value)
	if err != nil {
		return h, err
	}
	h.Schema = c.Schema().Text()
	for _, ix := range c.All() {
		h.Indexes = append(h.Indexes, Index(ix))
	}
	return h, nil
}

// DecodeFormer reads the value of the key ("S", type, "history", versionstamp): a header,
// and until when it was that of the store. It returns an *[Error] as [DecodeHeader] does.
func DecodeFormer(value []byte) (until time.Time, err error) {
	f, err := format.DecodeFormer(value)
	return f.Until, err
}
