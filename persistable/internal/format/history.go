// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/tuple"
)

// Former is a header that another has replaced. Its value is the packed tuple
//
//	(1, milliseconds since 1970 at which it was replaced, the header's value)
type Former struct {
	Until   time.Time // by the clock of the process that replaced it
	Catalog *Catalog
}

// Encode returns the value of a former header.
func (f Former) Encode() ([]byte, error) {
	header, err := f.Catalog.Encode()
	if err != nil {
		return nil, err
	}
	return tuple.Tuple{int64(formerFormat), f.Until.UnixMilli(), header}.Pack()
}

const formerFormat = 1

// DecodeFormer reads the value of a former header. It returns an *[Error] if the value is
// damaged or of a newer format.
func DecodeFormer(value []byte) (f Former, err error) {
	_, err = newer.ReadFormat(value, formerFormat)
	if errors.Is(err, newer.Err) {
		return f, newerError("an entry of the schema's history: ", err)
	}
	if t, broken := tuple.Unpack(value); err == nil && broken == nil && len(t) == 3 {
		until, ok1 := t[1].(int64)
		header, ok2 := t[2].([]byte)
		if ok1 && ok2 {
			f.Until = time.UnixMilli(until)
			f.Catalog, err = DecodeCatalog(header)
			return f, err
		}
	}
	return f, corrupt("an entry of the schema's history is damaged")
}
