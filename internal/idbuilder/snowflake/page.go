// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/lease"
)

// page is the value of a document: the pairs of a service in the order of their
// keys.
type page struct {
	Format int    `json:"format"`
	Closed int64  `json:"closed,omitempty"` // the version of the layout that has closed this page; 0: it is open
	Pairs  []byte `json:"pairs"`            // deflated: for each pair the lengths of key and value as varints, and both
	pairs  []lease.Pair
}

const (
	pageFormat = 1
	// maxPage bounds the bytes of the pairs before they are deflated.
	maxPage = 16 << 20
)

// writers has writers for reuse: one needs 600 kB.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// encode returns the page as JSON.
func (p *page) encode() ([]byte, error) {
	var deflated bytes.Buffer
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&deflated)
	var raw []byte
	for _, pair := range p.pairs {
		raw = binary.AppendUvarint(raw, uint64(len(pair.Key)))
		raw = binary.AppendUvarint(raw, uint64(len(pair.Value)))
		raw = append(append(raw, pair.Key...), pair.Value...)
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	p.Format, p.Pairs = pageFormat, deflated.Bytes()
	value, err := json.Marshal(p)
	if err == nil && (len(value) > store.MaxValue || len(raw) > maxPage) {
		err = fmt.Errorf("it would have %d bytes, allowed are %d", len(value), store.MaxValue)
	}
	return value, err
}

// decodePage reads the value of a document.
func decodePage(doc store.Document) (*page, error) {
	p := &page{}
	if err := unmarshal(doc, &p.Format, pageFormat, p); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(p.Pairs)), maxPage+1))
	if err == nil && len(raw) > maxPage {
		err = fmt.Errorf("they have more than %d bytes", maxPage)
	}
	if err == nil {
		err = p.decodePairs(raw)
	}
	if err != nil {
		return nil, corrupt(doc, "its pairs cannot be read", err)
	}
	return p, nil
}

// decodePairs sets the pairs.
func (p *page) decodePairs(raw []byte) error {
	for len(raw) > 0 {
		key, n := binary.Uvarint(raw)
		value, m := binary.Uvarint(raw[max(n, 0):])
		if n <= 0 || m <= 0 || key > maxPage || value > maxPage || key+value > uint64(len(raw)-n-m) {
			return errors.New("a pair is cut short")
		}
		raw = raw[n+m:]
		pair := lease.Pair{Key: raw[:key:key], Value: raw[key : key+value : key+value]}
		if last := len(p.pairs) - 1; last >= 0 && bytes.Compare(p.pairs[last].Key, pair.Key) >= 0 {
			return errors.New("the keys are not in order")
		}
		p.pairs, raw = append(p.pairs, pair), raw[key+value:]
	}
	return nil
}

// unmarshal reads the JSON of a document, of which format is a member. Of a newer version's the
// error is a [store.ErrNewer]: what this program does not know it would lose with its next write.
func unmarshal(doc store.Document, format *int, known int, into any) error {
	err := newer.Unmarshal(doc.Value, into)
	switch {
	case *format > known:
		return corrupt(doc, "", newer.Format(int64(*format), int64(known), ""))
	case err != nil:
		return corrupt(doc, "its JSON cannot be read", err)
	case *format < 1:
		return corrupt(doc, fmt.Sprintf("its format is %d", *format), nil)
	}
	return nil
}

func corrupt(doc store.Document, reason string, err error) error {
	return &store.CorruptError{Where: fmt.Sprintf("%s %q", store.Leases, doc.Key), Reason: reason, Err: err}
}
